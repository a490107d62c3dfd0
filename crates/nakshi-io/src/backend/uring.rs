//! Reads by io_uring: a ring per queue, a batch per system call.
#![allow(unsafe_code)]

use super::files::{FileTable, OpenFile};
use super::flight::Flight;
use super::{Completion, OpenFiles, Read, ReadQueue, StorageBackend, Timeout};
use crate::buffer::Slab;
use crate::{AlignedBuf, Error, Result};
use io_uring::{IoUring, Probe, opcode, types};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most reads of one ring.
const DEPTH: usize = 4096;
/// Most memory regions that a ring registers.
const REGIONS: u32 = 8;
/// Most bytes of a region, which the kernel limits.
const REGION_BYTES: usize = 1 << 30;
/// Time for which a dropped queue waits for a silent device before it leaks its memory.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Reads by io_uring: `O_DIRECT` where possible, registered buffers, one ring
/// per queue and so per worker, no threads.
#[derive(Debug)]
pub struct UringBackend {
    files: Arc<FileTable>,
}

impl UringBackend {
    /// A backend that reads past the page cache where the file system can.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the kernel or a container refuses io_uring.
    pub fn new() -> Result<Self> {
        Self::over(Arc::new(FileTable::new(true)))
    }

    pub(super) fn over(files: Arc<FileTable>) -> Result<Self> {
        try_ring().map_err(|e| Error::unsupported(format!("io_uring: {e}")))?;
        Ok(Self { files })
    }

    pub(super) fn uring_queue(&self, depth: usize) -> io::Result<UringQueue> {
        UringQueue::new(Arc::clone(&self.files), depth)
    }
}

/// Tests that a ring can be made, supports the operations that this backend uses, and can be
/// entered.
fn try_ring() -> io::Result<()> {
    let mut ring = build(1)?;
    let mut probe = Probe::new();
    ring.submitter().register_probe(&mut probe)?;
    if ![opcode::Read::CODE, opcode::Readv::CODE, opcode::ReadFixed::CODE]
        .iter()
        .all(|&op| probe.is_supported(op))
    {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this kernel's rings do not read (Linux 5.6 does)",
        ));
    }
    // SAFETY: a request that touches no memory.
    unsafe { ring.submission().push(&opcode::Nop::new().build()) }.map_err(io::Error::other)?;
    ring.submit_and_wait(1)?;
    ring.completion()
        .next()
        .map_or_else(|| Err(io::Error::other("a ring does not answer")), |_| Ok(()))
}

fn build(depth: u32) -> io::Result<IoUring> {
    // No interrupts for a worker that computes: it polls its ring between tasks. Kernels before
    // 5.19 do not know the flag.
    match IoUring::builder().setup_coop_taskrun().build(depth) {
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => IoUring::builder().build(depth),
        ring => ring,
    }
}

impl StorageBackend for UringBackend {
    fn name(&self) -> &'static str {
        "io_uring"
    }

    fn files(&self) -> &dyn OpenFiles {
        self.files.as_ref()
    }

    fn queue(&self, depth: usize) -> Result<Box<dyn ReadQueue>> {
        let queue =
            self.uring_queue(depth).map_err(|e| Error::unsupported(format!("io_uring: {e}")))?;
        Ok(Box::new(queue))
    }
}

/// A read whose buffers the kernel may be writing to. It is not moved before its completion has
/// arrived.
struct InFlight {
    read: Read,
    file: Arc<OpenFile>,
    /// The kernel reads these when the request starts.
    vectors: Vec<libc::iovec>,
}

// SAFETY: the pointers in `vectors` point to the memory of `read.bufs`, which moves to other
// threads with them.
unsafe impl Send for InFlight {}

/// A worker's ring.
pub(super) struct UringQueue {
    /// Not dropped in a child process, nor while the kernel may still write to the buffers.
    ring: ManuallyDrop<IoUring>,
    flight: Flight,
    slots: ManuallyDrop<Vec<Option<InFlight>>>,
    free: Vec<u32>,
    /// Registered regions by index; kept mapped as long as the ring.
    regions: ManuallyDrop<Vec<Arc<Slab>>>,
    /// True if more regions may be registered.
    registers: bool,
}

impl UringQueue {
    fn new(files: Arc<FileTable>, depth: usize) -> io::Result<Self> {
        let depth = depth.clamp(1, DEPTH);
        let entries = u32::try_from(depth.next_power_of_two()).unwrap_or(1);
        Ok(Self {
            ring: ManuallyDrop::new(build(entries)?),
            flight: Flight::new(files, depth),
            slots: ManuallyDrop::new((0..depth).map(|_| None).collect()),
            free: (0..entries).take(depth).rev().collect(),
            regions: ManuallyDrop::default(),
            registers: true,
        })
    }

    /// Puts one read into the submission queue.
    fn push(&mut self, read: Read, file: Arc<OpenFile>) -> Result<()> {
        let refuse = || Error::unsupported("more reads than the ring has room for");
        let number = self.free.pop().ok_or_else(refuse)?;
        let fd = types::Fd(file.file.as_raw_fd());
        let (offset, tag) = (read.offset, u64::from(number));
        let slot = InFlight { read, file, vectors: Vec::new() };
        let place = self.slots.get_mut(number as usize).ok_or_else(refuse)?;
        let slot = place.insert(slot);
        let entry = match slot.read.bufs.as_slice() {
            [buf] => {
                let len = u32::try_from(buf.len())
                    .map_err(|_| Error::unsupported("a read of over 4 GiB"))?;
                match self.regions.iter().position(|slab| Arc::ptr_eq(slab, buf.slab())) {
                    Some(region) => {
                        let region = u16::try_from(region).unwrap_or(u16::MAX);
                        opcode::ReadFixed::new(fd, buf.address(), len, region)
                            .offset(offset)
                            .build()
                    }
                    None => opcode::Read::new(fd, buf.address(), len).offset(offset).build(),
                }
            }
            bufs => {
                let vector = |buf: &AlignedBuf| libc::iovec {
                    iov_base: buf.address().cast(),
                    iov_len: buf.len(),
                };
                slot.vectors.extend(bufs.iter().map(vector));
                let count = u32::try_from(slot.vectors.len()).unwrap_or(u32::MAX);
                opcode::Readv::new(fd, slot.vectors.as_ptr(), count).offset(offset).build()
            }
        };
        // SAFETY: the descriptor, the vectors and the buffers belong to the
        // slot, which is not touched until the completion has come; `drop`
        // leaks them if it never comes.
        unsafe { self.ring.submission().push(&entry.user_data(tag)) }.map_err(|_| refuse())
    }

    /// Takes the completions that have arrived; returns their number.
    fn reap(&mut self, out: &mut Vec<Completion>) -> usize {
        let mut count = 0;
        for entry in self.ring.completion() {
            let number = usize::try_from(entry.user_data()).unwrap_or(usize::MAX);
            let Some(done) = self.slots.get_mut(number).and_then(Option::take) else { continue };
            self.free.extend(u32::try_from(number));
            self.flight.reads -= 1;
            count += 1;
            let InFlight { read, file, .. } = done;
            let result = match usize::try_from(entry.result()) {
                Ok(len) => {
                    file.forget(read.offset, len);
                    Ok(len)
                }
                Err(_) => Err(io::Error::from_raw_os_error(entry.result().saturating_neg())),
            };
            out.push(Completion { tag: read.tag, bufs: read.bufs, result });
        }
        count
    }

    /// Enters the kernel: submits the queued reads and waits for `want` completions or until the
    /// deadline. Returns `false` once the deadline has passed.
    fn enter(&self, want: usize, deadline: Option<Instant>) -> io::Result<bool> {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let submitter = self.ring.submitter();
        let result = match left {
            Some(left) if want > 0 && self.ring.params().is_feature_ext_arg() => {
                let time = types::Timespec::from(left);
                submitter.submit_with_args(want, &types::SubmitArgs::new().timespec(&time))
            }
            _ => submitter.submit_and_wait(want),
        };
        match result {
            Ok(_) => Ok(left.is_none_or(|left| !left.is_zero())),
            Err(e) => match e.raw_os_error() {
                Some(libc::ETIME) => Ok(false),
                // A signal, or a momentary lack of memory or of space in the ring: try again.
                Some(libc::EINTR | libc::EAGAIN | libc::EBUSY) => {
                    Ok(left.is_none_or(|left| !left.is_zero()))
                }
                _ => Err(e),
            },
        }
    }
}

impl ReadQueue for UringQueue {
    fn submit(&mut self, reads: &mut Vec<Read>) -> Result<()> {
        for (read, file) in self.flight.admit(reads)? {
            self.push(read, file)?;
            self.flight.reads += 1;
        }
        self.enter(0, None).map_err(|e| Error::io("submit reads to", "io_uring", e))?;
        Ok(())
    }

    fn complete(&mut self, min: usize, timeout: Timeout, out: &mut Vec<Completion>) -> Result<()> {
        let (min, deadline) = self.flight.goal(min, timeout)?;
        let mut count = self.reap(out);
        while count < min {
            let more = self
                .enter(min - count, deadline)
                .map_err(|e| Error::io("wait on", "io_uring", e))?;
            count += self.reap(out);
            if !more {
                break;
            }
        }
        Ok(())
    }

    fn in_flight(&self) -> usize {
        self.flight.reads
    }

    fn depth(&self) -> usize {
        self.flight.depth
    }

    fn register(&mut self, buf: &AlignedBuf) {
        let slab = buf.slab();
        let known = self.regions.iter().any(|region| Arc::ptr_eq(region, slab));
        if known || !self.registers || slab.len() > REGION_BYTES || self.flight.is_forked() {
            return;
        }
        let submitter = self.ring.submitter();
        let index = u32::try_from(self.regions.len()).unwrap_or(REGIONS);
        let ready = if index == 0 { submitter.register_buffers_sparse(REGIONS) } else { Ok(()) };
        let region = libc::iovec { iov_base: slab.start().cast(), iov_len: slab.len() };
        // SAFETY: the region stays mapped as long as the ring, which holds it
        // in `regions` from here on.
        let result = ready
            .and_then(|()| unsafe { submitter.register_buffers_update(index, &[region], None) });
        match result {
            Ok(()) => {
                self.regions.push(Arc::clone(slab));
                self.registers = index + 1 < REGIONS;
            }
            Err(e) => {
                // RLIMIT_MEMLOCK is often small (ENOMEM), and kernels before 5.19 have no such
                // tables. Reads work without registration.
                tracing::debug!("buffers stay unregistered: {e}");
                self.registers = false;
            }
        }
    }
}

impl Drop for UringQueue {
    fn drop(&mut self) {
        if self.flight.is_forked() {
            // A forked child: ring and reads belong to the parent.
            return;
        }
        let deadline = Instant::now() + DRAIN_TIMEOUT;
        let mut lost = Vec::new();
        while self.flight.reads > 0 {
            let more = self.enter(1, Some(deadline));
            self.reap(&mut lost);
            if !matches!(more, Ok(true)) && Instant::now() >= deadline || more.is_err() {
                break;
            }
        }
        if self.flight.reads > 0 {
            // The kernel may still write to the buffers: they must not be freed.
            tracing::warn!("{} reads never came back; their memory is given up", self.flight.reads);
            return;
        }
        // SAFETY: nothing is in flight, and none of the three is used again.
        unsafe {
            ManuallyDrop::drop(&mut self.ring);
            ManuallyDrop::drop(&mut self.slots);
            ManuallyDrop::drop(&mut self.regions);
        }
    }
}
