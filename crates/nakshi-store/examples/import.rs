//! Imports one edge list: `import EDGES STORE [undirected] [weighted] [memory=MIB] [threads=N]
//! [layout=NAME] [format=NAME]`.

use std::path::Path;

use nakshi_store::import::{Hooks, ImportOptions, Input, import};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [edges, store, rest @ ..] = arguments.as_slice() else {
        return Err("usage: import EDGES STORE [OPTION...]".into());
    };
    let mut options = ImportOptions::default();
    for option in rest {
        match option.split_once('=').unwrap_or((option, "")) {
            ("undirected", _) => options.directed = false,
            ("weighted", _) => options.weighted = true,
            ("memory", mib) => options.memory = mib.parse::<u64>()? << 20,
            ("threads", threads) => options.threads = threads.parse()?,
            ("layout", layout) => options.layout = layout.parse()?,
            ("format", format) => options.format = format.parse()?,
            _ => return Err(format!("unknown option {option}").into()),
        }
    }
    let report =
        import(vec![Input::Path(edges.into())], Path::new(store), &options, &Hooks::default())?;
    println!("{report:#?}");
    Ok(())
}
