//! [`Gate`]: a way to a service that can be shut.

use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// A port of its own that leads to a service while it is open. Shut, nobody listens there, and what went through is
/// cut off.
#[derive(Debug)]
pub struct Gate {
    target: String,
    pub port: u16,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    shutting: Arc<AtomicBool>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
    accepting: JoinHandle<()>,
}

impl Gate {
    /// An open gate to `target` (`HOST:PORT`).
    ///
    /// # Panics
    ///
    /// If no port is free.
    #[must_use]
    pub fn to(target: &str) -> Self {
        let mut gate = Self { target: target.to_owned(), port: 0, open: None };
        gate.open();
        gate
    }

    /// Lets through, on the port that it had.
    ///
    /// # Panics
    ///
    /// If another process has taken it.
    pub fn open(&mut self) {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).expect("the port is free");
        self.port = listener.local_addr().expect("it is bound").port();
        let (shutting, streams) = (Arc::<AtomicBool>::default(), Arc::default());
        let accepting = thread::spawn({
            let (target, shutting) = (self.target.clone(), Arc::clone(&shutting));
            let streams = Arc::clone(&streams);
            move || accept(&listener, &target, &shutting, &streams)
        });
        self.open = Some(Open { shutting, streams, accepting });
    }

    /// Cuts everything off.
    ///
    /// # Panics
    ///
    /// If a thread of it has.
    pub fn shut(&mut self) {
        let Some(open) = self.open.take() else { return };
        open.shutting.store(true, Ordering::SeqCst);
        // Wakes the thread up that waits for a connection.
        let _woken = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        open.accepting.join().expect("it does not panic");
        for stream in open.streams.lock().expect("nobody panics").iter() {
            // The other side may have been quicker.
            let _closed = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.shut();
    }
}

fn accept(
    listener: &TcpListener,
    target: &str,
    shutting: &AtomicBool,
    streams: &Mutex<Vec<TcpStream>>,
) {
    for client in listener.incoming().map_while(Result::ok) {
        if shutting.load(Ordering::SeqCst) {
            return;
        }
        // A service that is not there is the client's to find out.
        let Ok(server) = TcpStream::connect(target) else { continue };
        for (from, to) in [(&client, &server), (&server, &client)] {
            let copies = from.try_clone().and_then(|from| Ok((from, to.try_clone()?)));
            let Ok((mut from, mut to)) = copies else { continue };
            thread::spawn(move || {
                let _ended = io::copy(&mut from, &mut to);
                let _closed = to.shutdown(Shutdown::Both);
            });
        }
        streams.lock().expect("nobody panics").extend([client, server]);
    }
}
