//! File systems that fail on purpose, or that skip fsync.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nakshi_io::write::{FaultyFs, RealFs, WriteAction, WriteFault, WriteFile, WriteFs};

pub fn faulty(nth: u64, action: WriteAction) -> Arc<dyn WriteFs> {
    let fault = WriteFault { op: None, nth, onwards: false, action };
    Arc::new(FaultyFs::new(Arc::new(Unsynced(RealFs::new())), vec![fault]))
}

/// Fails once, works on, and fails for good some operations later.
pub fn failing_twice(nth: u64, later: u64, errno: i32) -> Arc<dyn WriteFs> {
    let fault =
        |nth, onwards| WriteFault { op: None, nth, onwards, action: WriteAction::Fail(errno) };
    let faults = vec![fault(nth, false), fault(nth + later, true)];
    Arc::new(FaultyFs::new(Arc::new(Unsynced(RealFs::new())), faults))
}

/// The operating system's file system without fsync: hundreds of stores are made in seconds, and
/// none of them has to survive a power cut.
#[derive(Debug)]
pub struct Unsynced(RealFs);

#[derive(Debug)]
pub struct UnsyncedFile(Box<dyn WriteFile>);

impl WriteFs for Unsynced {
    fn create(&self, path: &Path) -> nakshi_io::Result<Box<dyn WriteFile>> {
        Ok(Box::new(UnsyncedFile(self.0.create(path)?)))
    }
    fn create_dir(&self, path: &Path) -> nakshi_io::Result<()> {
        self.0.create_dir(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> nakshi_io::Result<()> {
        self.0.rename(from, to)
    }
    fn publish(&self, from: &Path, to: &Path) -> nakshi_io::Result<()> {
        self.0.publish(from, to)
    }
    fn remove_file(&self, path: &Path) -> nakshi_io::Result<()> {
        self.0.remove_file(path)
    }
    fn remove_dir_all(&self, path: &Path) -> nakshi_io::Result<()> {
        self.0.remove_dir_all(path)
    }
    fn sync_dir(&self, _: &Path) -> nakshi_io::Result<()> {
        Ok(())
    }
}

impl WriteFile for UnsyncedFile {
    fn append(&mut self, bytes: &[u8]) -> nakshi_io::Result<()> {
        self.0.append(bytes)
    }
    fn sync(&mut self) -> nakshi_io::Result<()> {
        Ok(())
    }
    fn len(&self) -> u64 {
        self.0.len()
    }
    fn path(&self) -> &Path {
        self.0.path()
    }
}

/// A file system that panics once, in a write to a file with this prefix.
#[derive(Debug)]
pub struct Panics {
    inner: Arc<dyn WriteFs>,
    prefix: &'static str,
    armed: Arc<AtomicBool>,
}

#[derive(Debug)]
struct PanicsFile(Box<dyn WriteFile>, Arc<AtomicBool>);

/// A file system that panics when the log is written, once the flag is set.
pub fn panics(armed: &Arc<AtomicBool>) -> Arc<dyn WriteFs> {
    Arc::new(Panics { inner: unsynced(), prefix: "log-", armed: Arc::clone(armed) })
}

impl WriteFs for Panics {
    fn create(&self, path: &Path) -> nakshi_io::Result<Box<dyn WriteFile>> {
        let file = self.inner.create(path)?;
        let name = path.file_name().unwrap().to_str().unwrap();
        Ok(match name.starts_with(self.prefix) {
            true => Box::new(PanicsFile(file, Arc::clone(&self.armed))),
            false => file,
        })
    }
    fn create_dir(&self, path: &Path) -> nakshi_io::Result<()> {
        self.inner.create_dir(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> nakshi_io::Result<()> {
        self.inner.rename(from, to)
    }
    fn publish(&self, from: &Path, to: &Path) -> nakshi_io::Result<()> {
        self.inner.publish(from, to)
    }
    fn remove_file(&self, path: &Path) -> nakshi_io::Result<()> {
        self.inner.remove_file(path)
    }
    fn remove_dir_all(&self, path: &Path) -> nakshi_io::Result<()> {
        self.inner.remove_dir_all(path)
    }
    fn sync_dir(&self, path: &Path) -> nakshi_io::Result<()> {
        self.inner.sync_dir(path)
    }
}

impl WriteFile for PanicsFile {
    fn append(&mut self, bytes: &[u8]) -> nakshi_io::Result<()> {
        if self.1.load(Ordering::Relaxed) {
            // Other threads begin to wait in this time.
            std::thread::sleep(Duration::from_millis(100));
            self.1.store(false, Ordering::Relaxed);
            panic!("planted");
        }
        self.0.append(bytes)
    }
    fn sync(&mut self) -> nakshi_io::Result<()> {
        self.0.sync()
    }
    fn len(&self) -> u64 {
        self.0.len()
    }
    fn path(&self) -> &Path {
        self.0.path()
    }
}

pub fn unsynced() -> Arc<dyn WriteFs> {
    Arc::new(Unsynced(RealFs::new()))
}
