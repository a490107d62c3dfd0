//! Writing through the operating system.

use super::{WriteFile, WriteFs};
use crate::Result;
use crate::error::At;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes through the operating system.
#[derive(Debug, Default, Clone)]
pub struct RealFs(());

impl RealFs {
    /// The file system of this process.
    pub fn new() -> Self {
        Self(())
    }
}

impl WriteFs for RealFs {
    fn create(&self, path: &Path) -> Result<Box<dyn WriteFile>> {
        let file = OpenOptions::new().write(true).create_new(true).open(path).at("create", path)?;
        Ok(Box::new(RealFile { file, path: path.to_owned(), len: 0 }))
    }

    fn create_dir(&self, path: &Path) -> Result<()> {
        fs::create_dir(path).at("create", path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        fs::rename(from, to).at("rename", to)
    }

    fn publish(&self, from: &Path, to: &Path) -> Result<()> {
        if fs::symlink_metadata(to).is_ok() {
            return Err(crate::Error::Exists { path: to.to_owned() });
        }
        fs::rename(from, to).at("rename", to)
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        fs::remove_file(path).at("remove", path)
    }

    fn remove_dir_all(&self, path: &Path) -> Result<()> {
        fs::remove_dir_all(path).at("remove", path)
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        File::open(path).and_then(|dir| dir.sync_all()).at("fsync", path)
    }
}

#[derive(Debug)]
struct RealFile {
    file: File,
    path: PathBuf,
    len: u64,
}

impl WriteFile for RealFile {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).at("write", &self.path)?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync_all().at("fsync", &self.path)
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn path(&self) -> &Path {
        &self.path
    }
}
