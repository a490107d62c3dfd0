//! Workers with programs of their own.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::ExitCode;

use nakshi_engine::CancelToken;

use crate::task::{OwnProgram, Programs};
use crate::worker::{Rules, serve};
use crate::{Allowed, Error, Result, Token};

/// Makes `main` of a worker that has programs of its own: the types of these, which are
/// [`crate::NamedProgram`]s.
///
/// The worker takes `--listen HOST:PORT`, `--token-file FILE`, `--allow DIR` (as often as need be) and
/// `--once`, with the meaning that they have for `nakshi worker`, and runs algorithms as well.
///
/// ```ignore
/// nakshi_cluster::worker_main!(Rumours, Distances);
/// ```
#[macro_export]
macro_rules! worker_main {
    ($($program:ty),+ $(,)?) => {
        fn main() -> std::process::ExitCode {
            static OWN: &[$crate::OwnProgram] = &[$($crate::OwnProgram::of::<$program>()),+];
            $crate::worker_with(OWN)
        }
    };
}

/// Arguments of a worker.
#[derive(Debug)]
struct Arguments {
    listen: String,
    token: Option<PathBuf>,
    allow: Vec<PathBuf>,
    once: bool,
}

impl Arguments {
    fn of(mut words: impl Iterator<Item = String>) -> std::result::Result<Self, String> {
        let mut found = Arguments {
            listen: "127.0.0.1:7077".into(),
            token: None,
            allow: Vec::new(),
            once: false,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "--listen" => found.listen = value()?,
                "--token-file" => found.token = Some(value()?.into()),
                "--allow" => found.allow.push(value()?.into()),
                "--once" => found.once = true,
                _ => {
                    return Err(format!(
                        "{word} is not known; take --listen HOST:PORT, --token-file FILE, --allow DIR, --once"
                    ));
                }
            }
        }
        Ok(found)
    }
}

/// Serves front-ends until the process is ended, as [`worker_main`] does.
pub fn worker_with(own: &'static [OwnProgram]) -> ExitCode {
    let arguments = match Arguments::of(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(why) => {
            eprintln!("error: {why}");
            return ExitCode::from(2);
        }
    };
    match listen(&arguments, own) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn listen(arguments: &Arguments, own: &'static [OwnProgram]) -> Result<()> {
    let failed = |what: &str, error: std::io::Error| Error::FrontEnd(format!("{what}: {error}"));
    let listener = TcpListener::bind(&arguments.listen)
        .map_err(|error| failed(&format!("cannot listen at {}", arguments.listen), error))?;
    let address = listener.local_addr().map_err(|error| failed("its address", error))?;
    let token = match &arguments.token {
        Some(file) => {
            let read = std::fs::read(file);
            let secret = read.map_err(|error| failed(&file.display().to_string(), error))?;
            Token::new(secret.trim_ascii())?
        }
        None if !address.ip().is_loopback() => {
            let why =
                format!("other machines reach {address}: give --token-file FILE with a secret");
            return Err(Error::FrontEnd(why));
        }
        None => Token::of_user()?.0,
    };
    let here = vec![PathBuf::from(".")];
    let allowed = if arguments.allow.is_empty() { &here } else { &arguments.allow };
    let programs = Programs { own, ..Programs::default() };
    let (allowed, once) = (Allowed::new(allowed)?, arguments.once);
    let rules = Rules { token, allowed, once, programs, part: None };
    println!("listening at {address}");
    serve(&listener, &rules, &CancelToken::new())
}
