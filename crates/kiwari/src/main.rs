//! Kiwari: help search that always answers on time.
//!
//! The binary, and the only place that knows every implementation.

mod bench;
mod calibration;
mod cli;
mod commands;
mod compose;
mod config;
mod database;
mod delays;
mod demo_help;
mod doctor;
mod eval;
mod follow;
mod heard;
mod index_folder;
mod logging;
mod models;
mod output;
mod replica;
mod stores;
mod surroundings;
mod take_up;
mod taken_up;

use std::process::ExitCode;

use clap::Parser;
use mimalloc::MiMalloc;

use crate::cli::{Cli, Command};
use crate::config::ConfigError;

/// An answer allocates a few thousand times, on several threads.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Wrong usage or configuration, as `sysexits.h` has it.
const EXIT_USAGE: u8 = 64;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // A closed pipe is no reason to fail while explaining usage.
            let _unheard = error.print();
            return if error.use_stderr() { ExitCode::from(EXIT_USAGE) } else { ExitCode::SUCCESS };
        }
    };
    match run(cli) {
        Ok(code) => code,
        Err(error) => {
            output::complain(&error);
            if error.is::<ConfigError>() { ExitCode::from(EXIT_USAGE) } else { ExitCode::FAILURE }
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let sources = cli.sources();
    let config = match (config::load(&sources), &cli.command) {
        (Err(error), Command::Doctor(arguments)) => {
            commands::doctor::refused(&error, arguments)?;
            return Ok(ExitCode::from(EXIT_USAGE));
        }
        (config, _) => config?,
    };
    let database = database::settings(&sources.environment)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        match cli.command {
            Command::Index(arguments) => commands::index::run(&config, &arguments).await,
            Command::Ask(arguments) => commands::ask::run(&config, &arguments).await,
            Command::Serve(arguments) => commands::serve::run(&config, &arguments, database).await,
            Command::Demo(arguments) => commands::demo::run(&config, &arguments).await,
            Command::Report(arguments) => {
                commands::report::run(&config, &arguments, database.as_ref()).await
            }
            Command::Calibrate(arguments) => {
                commands::calibrate::run(&config, &arguments, database.as_ref()).await
            }
            Command::Migrate(arguments) => {
                commands::migrate::run(&config, &arguments, database).await
            }
            Command::Eval(arguments) => commands::eval::run(&arguments).await,
            Command::Bench(arguments) => commands::bench::run(&arguments).await,
            Command::Doctor(arguments) => {
                let changed = config::changed(&sources)?;
                commands::doctor::run(&config, &changed, &arguments, database.as_ref()).await
            }
            Command::Healthcheck(arguments) => {
                commands::healthcheck::run(&config, &arguments).await
            }
            Command::Simulate(arguments) => commands::simulate::run(&arguments).await,
            Command::SimulatePolicy(arguments) => commands::simulate_policy::run(&arguments),
            Command::Config => commands::config::run(&config),
        }
    });
    // Blocking work that nobody waits for any more must not hold the exit up.
    runtime.shutdown_background();
    outcome
}
