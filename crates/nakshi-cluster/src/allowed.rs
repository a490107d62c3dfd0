//! Files that a front-end may name.

use std::path::{Path, PathBuf};

use crate::checkpoint::Place;
use crate::control::ClusterJob;
use crate::task::GraphInput;
use crate::{EdgeFile, Error, Result};

/// Folders and files of a server, below which a front-end may name stores, files of edges and folders for
/// checkpoints. What a store itself refers to, as stripes on other disks, is taken as it is.
#[derive(Clone, Debug)]
pub struct Allowed(Vec<PathBuf>);

impl Allowed {
    /// Everything below these folders, and these files; links are followed.
    ///
    /// # Errors
    /// [`Error::Allowed`] for one that is not there.
    pub fn new(paths: &[PathBuf]) -> Result<Self> {
        let one = |path: &PathBuf| {
            path.canonicalize().map_err(|error| Error::Allowed(path.display().to_string(), error))
        };
        paths.iter().map(one).collect::<Result<_>>().map(Allowed)
    }

    /// A job with its paths as they are without links and `..`.
    ///
    /// # Errors
    /// [`Error::Failed`] of `server` for a path that is not there, or leads elsewhere.
    pub(crate) fn admit(&self, server: usize, job: &ClusterJob) -> Result<ClusterJob> {
        let admitted = |what: &str, path: &Path| {
            self.path(path).map_err(|why| Error::Failed { server, why: format!("{what} {why}") })
        };
        let input = match &job.input {
            GraphInput::Store(path) => GraphInput::Store(admitted("the store", path)?),
            GraphInput::Edges { file, source, bytes } => {
                let path = admitted("the file", &file.path)?;
                let nodes = file.nodes.as_deref();
                let nodes = nodes.map(|nodes| admitted("the file", nodes)).transpose()?;
                let file = EdgeFile { path, nodes, ..file.clone() };
                GraphInput::Edges { file, source: source.clone(), bytes: *bytes }
            }
            // Its part is what the worker was started with.
            GraphInput::Parts { .. } => job.input.clone(),
        };
        let mut job = ClusterJob { input, ..job.clone() };
        if let Some(checkpoints) = &mut job.checkpoints
            && let Place::Folder(folder) = &mut checkpoints.place
        {
            *folder = admitted("the folder for its checkpoint files", folder)?;
        }
        Ok(job)
    }

    fn path(&self, path: &Path) -> std::result::Result<PathBuf, String> {
        let named = path.display();
        let real = path.canonicalize().map_err(|error| format!("{named}: {error}"))?;
        if self.0.iter().any(|folder| real.starts_with(folder)) {
            return Ok(real);
        }
        let leads =
            if real == path { String::new() } else { format!(", which is {},", real.display()) };
        let folders: Vec<_> = self.0.iter().map(|folder| folder.display().to_string()).collect();
        let folders = if folders.is_empty() { "nothing".into() } else { folders.join(", ") };
        Err(format!("{named}{leads} is not below what this worker may use: {folders} (--allow)"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seen red with paths compared as they are named.
    #[test]
    fn paths_that_lead_out() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["data/graph", "database", "outside"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        std::os::unix::fs::symlink(root.join("outside"), root.join("data/link")).unwrap();
        std::os::unix::fs::symlink(root.join("data/graph"), root.join("in")).unwrap();
        let allowed = Allowed::new(&[root.join("data")]).unwrap();
        for inside in ["data", "data/graph", "data/../data/graph", "in"] {
            assert!(allowed.path(&root.join(inside)).is_ok(), "{inside}");
        }
        let real = allowed.path(&root.join("in")).unwrap();
        assert_eq!(real, root.join("data/graph"));
        for outside in ["data/../outside", "data/link", "database", "outside", "."] {
            let why = allowed.path(&root.join(outside)).unwrap_err();
            assert!(why.contains(outside) && why.contains("data (--allow)"), "{why}");
        }
        let why = allowed.path(&root.join("data/nowhere")).unwrap_err();
        assert!(why.contains("No such file"), "{why}");
        assert!(matches!(Allowed::new(&[root.join("nowhere")]), Err(Error::Allowed(..))));
    }
}
