//! [`Simulator`]: starting, listening, breaking off, stopping.

use std::future::{Future, pending};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use deadline::Deadline;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::handle::handle;
use super::socket::{Line, Socket};
use crate::faults::FaultPlan;
use crate::journal::{Entry, Summary};
use crate::settings::Settings;
use crate::state::State;

/// A running simulator. Dropping it closes its port and every connection at once.
#[derive(Debug)]
pub struct Simulator {
    address: SocketAddr,
    state: Arc<State>,
    commands: mpsc::Sender<Command>,
    /// The one task that accepts and owns all connections.
    task: JoinSet<()>,
}

#[derive(Debug)]
enum Command {
    StopListening(oneshot::Sender<()>),
    ListenAgain(oneshot::Sender<io::Result<()>>),
}

/// How long calls under way may take to end when the simulator is stopped.
const GRACE: Duration = Duration::from_millis(200);

impl Simulator {
    /// Listens and answers from now on, on tasks of the runtime it is called in.
    ///
    /// # Errors
    ///
    /// If the address cannot be listened on.
    pub async fn start(settings: Settings) -> io::Result<Self> {
        let listener = TcpListener::bind(settings.bind).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(State::new(settings));
        let (commands, received) = mpsc::channel(1);
        let mut task = JoinSet::new();
        let door = Door { address, state: Arc::clone(&state), connections: JoinSet::new() };
        task.spawn(door.keep(listener, received));
        Ok(Self { address, state, commands, task })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://` and the address, without a slash at the end.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Replaces all faults; calls under way keep theirs.
    pub fn set_faults(&self, faults: FaultPlan) {
        *self.state.faults() = faults;
    }

    /// The faults that calls meet from now on; scripts without the steps that are used up.
    #[must_use]
    pub fn faults(&self) -> FaultPlan {
        self.state.faults().clone()
    }

    /// All calls so far, in order of their beginning.
    #[must_use]
    pub fn journal(&self) -> Vec<Entry> {
        self.journal_since(0)
    }

    /// The calls from number `seq` on.
    #[must_use]
    pub fn journal_since(&self, seq: u64) -> Vec<Entry> {
        self.state.journal.entries(seq)
    }

    /// Forgets all calls and counts anew.
    pub fn clear_journal(&self) {
        self.state.journal.clear();
    }

    /// Counts over all calls.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.state.journal.summary()
    }

    /// Loads the embedding model, so that the first embedding is not slow.
    pub async fn warm_up(&self) {
        self.state.vectors.warm_up().await;
    }

    /// Closes the port and every connection, so that callers are refused by the system itself.
    pub async fn stop_listening(&self) {
        let (done, ack) = oneshot::channel();
        if self.commands.send(Command::StopListening(done)).await.is_ok() {
            let _stopped_meanwhile = ack.await;
        }
    }

    /// Listens on the same address again.
    ///
    /// # Errors
    ///
    /// If somebody else has taken it.
    pub async fn listen_again(&self) -> io::Result<()> {
        let (done, ack) = oneshot::channel();
        let gone = || io::Error::other("the simulator has stopped");
        self.commands.send(Command::ListenAgain(done)).await.map_err(|_| gone())?;
        ack.await.map_err(|_| gone())?
    }

    /// Takes no more calls, lets those under way end within a fraction of a second, and drops the rest.
    pub async fn stop(self) {
        let Self { commands, mut task, .. } = self;
        drop(commands);
        while task.join_next().await.is_some() {}
    }
}

/// Accepts connections and owns them.
struct Door {
    address: SocketAddr,
    state: Arc<State>,
    connections: JoinSet<()>,
}

impl Door {
    async fn keep(mut self, listener: TcpListener, mut commands: mpsc::Receiver<Command>) {
        let mut listener = Some(listener);
        let stopping = CancellationToken::new();
        loop {
            tokio::select! {
                command = commands.recv() => match command {
                    None => break,
                    Some(command) => self.obey(command, &mut listener).await,
                },
                stream = accept(listener.as_ref()) => self.admit(stream, &stopping),
                Some(_ended) = self.connections.join_next() => {}
            }
        }
        drop(listener);
        stopping.cancel();
        let all = async { while self.connections.join_next().await.is_some() {} };
        let _in_time = Deadline::after(GRACE).run(all).await;
    }

    async fn obey(&mut self, command: Command, listener: &mut Option<TcpListener>) {
        match command {
            Command::StopListening(done) => {
                *listener = None;
                self.connections.shutdown().await;
                let _unheard = done.send(());
            }
            Command::ListenAgain(done) => {
                let bound = match listener {
                    Some(_) => Ok(()),
                    None => TcpListener::bind(self.address).await.map(|new| *listener = Some(new)),
                };
                let _unheard = done.send(bound);
            }
        }
    }

    fn admit(&mut self, stream: TcpStream, stopping: &CancellationToken) {
        let line = Arc::new(Line::default());
        if self.state.faults().refuses_everything() {
            line.reset_when_dropped();
            drop(Socket::new(stream, line));
            return;
        }
        let socket = Socket::new(stream, Arc::clone(&line));
        let connection = converse(socket, line, Arc::clone(&self.state), stopping.clone());
        self.connections.spawn(connection);
    }
}

/// The next connection; never, without a listener.
async fn accept(listener: Option<&TcpListener>) -> TcpStream {
    /// For when there are no more file descriptors: others may give some back.
    const BREATH: Duration = Duration::from_millis(10);
    let Some(listener) = listener else { return pending().await };
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(_) => tokio::time::sleep(BREATH).await,
        }
    }
}

/// Serves one connection to its end.
async fn converse(socket: Socket, line: Arc<Line>, state: Arc<State>, stopping: CancellationToken) {
    let tasks = Tasks(TaskTracker::new());
    let builder = Builder::new(tasks.clone());
    let service = service_fn(move |request| handle(Arc::clone(&state), Arc::clone(&line), request));
    let mut connection = Box::pin(builder.serve_connection(TokioIo::new(socket), service));
    // How a connection ends is the journal's business, call by call.
    let _ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopping.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
}

/// Where HTTP/2 streams run: they end with their connection.
#[derive(Clone, Debug)]
struct Tasks(TaskTracker);

impl<F> hyper::rt::Executor<F> for Tasks
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, work: F) {
        self.0.spawn(work);
    }
}
