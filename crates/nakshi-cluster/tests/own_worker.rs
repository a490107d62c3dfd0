//! A program that is not built in: in memory, on the SSD, and on workers that have it of their own.
#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use nakshi_cluster::front::{Settings, run_own};
use nakshi_cluster::{Error, Token, local};
use nakshi_engine::program::pull::{PullProgram, pull_needs, run_pull};
use nakshi_engine::{Context, EngineMode, Graph};
use nakshi_store::import::{Hooks, ImportOptions, Input, import};
use nakshi_store::{OpenOptions, Store};

/// The example, without its `main`.
#[path = "../examples/own_worker.rs"]
#[allow(dead_code)]
mod example;

use example::Largest;

const SECRET: &str = "the secret of these tests";

fn store(folder: &Path) -> Arc<Store> {
    let edge = |i: u64| format!("{}\t{}\n", i * i % 977, i * 7919 % 1009);
    let (edges, path) = (folder.join("edges.tsv"), folder.join("graph.nakshi"));
    std::fs::write(&edges, (0..3000).map(edge).collect::<String>()).unwrap();
    let options = ImportOptions::default();
    import(vec![Input::Path(edges)], &path, &options, &Hooks::default()).unwrap();
    Store::open(&path, &OpenOptions::default()).unwrap()
}

/// A process of the example.
struct Worker {
    child: Child,
    address: String,
}

impl Worker {
    fn start(folder: &Path) -> Self {
        let deps = std::env::current_exe().unwrap();
        let binary: PathBuf = deps.ancestors().nth(2).unwrap().join("examples/own_worker");
        let secret = folder.join("secret");
        std::fs::write(&secret, SECRET).unwrap();
        let missing = format!("{}: `cargo test -p nakshi-cluster` builds it", binary.display());
        let mut child = Command::new(binary)
            .args(["--listen", "127.0.0.1:0", "--token-file"])
            .arg(secret)
            .arg("--allow")
            .arg(folder)
            .stdout(Stdio::piped())
            .spawn()
            .expect(&missing);
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit(' ').next().unwrap().to_owned();
        Worker { child, address }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_program_of_ones_own_runs_on_three_engines() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let program = Largest { limit: 900 };
    let needs = pull_needs(&program, None);
    let mut found = Vec::new();
    for mode in [EngineMode::Memory, EngineMode::Ssd] {
        let cx = Context::new().with_threads(2).with_mode(mode);
        let graph = Graph::open(&store, &needs, &cx).unwrap();
        found.push(run_pull(&graph, &program, None, &cx).unwrap().values);
        found.push(local::run(&graph, &program, 3, None, &cx).unwrap().values);
    }
    let cx = Context::new();
    let graph = Graph::open(&store, &needs, &cx).unwrap();
    let workers = [Worker::start(folder.path()), Worker::start(folder.path())];
    let addresses = workers.each_ref().map(|worker| worker.address.clone());
    let settings = Settings::new(Token::new(SECRET.as_bytes()).unwrap());
    let given = (store.path(), &graph);
    // The workers serve one run after the other.
    for _ in 0..2 {
        found.push(run_own(given, &program, &addresses, &settings, &cx).unwrap());
    }
    assert!(found.windows(2).all(|pair| pair[0] == pair[1]));
    assert!(found[0].contains(&900));

    let unknown = run_own(given, &Unknown(program), &addresses, &settings, &cx);
    let told = unknown.unwrap_err();
    assert!(matches!(told, Error::Failed { .. }), "{told}");
    assert!(told.to_string().contains("no program unknown; its own are: largest"), "{told}");
}

/// A program that no worker has.
#[derive(serde::Serialize, serde::Deserialize)]
struct Unknown(Largest);

impl PullProgram for Unknown {
    type Value = u32;
    type Output = u32;

    fn init(
        &self,
        origin: &nakshi_engine::program::pull::Origin,
        totals: &mut nakshi_engine::program::pull::Totals,
    ) -> u32 {
        self.0.init(origin, totals)
    }

    fn step<V: nakshi_engine::program::pull::PullVertex<u32>>(
        &self,
        me: &mut V,
    ) -> nakshi_engine::Result<()> {
        self.0.step(me)
    }

    fn output(&self, _: &nakshi_engine::program::pull::Origin, value: &u32) -> u32 {
        *value
    }
}

impl nakshi_cluster::NamedProgram for Unknown {
    const NAME: &'static str = "unknown";
}
