//! All damage is found and reported with file and page (RELIABILITY: flipped, zeroed, swapped and
//! truncated bytes; counts beyond 32 bits; foreign files; other formats; two writers).

mod sample;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nakshi_io::write::RealFs;
use nakshi_io::{CancelToken, IoStats, Salt, page_checksum};
use nakshi_store::*;
use sample::{home, plain, read_all, scale, stored};

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

const PAGE: usize = 512;

fn files(dest: &Path) -> Vec<PathBuf> {
    let mut all: Vec<_> =
        fs::read_dir(dest).expect("a store").map(|e| e.expect("an entry").path()).collect();
    all.sort();
    all
}

fn name(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}

/// Returns true if the ordinary readers and the deep check both refuse the store and name `file`,
/// and `page` if it is one of a data file.
fn refused(dest: &Path, file: &Path, page: Option<usize>, what: &str) {
    refused_by(dest, file, page, what, true);
}

fn refused_by(dest: &Path, file: &Path, page: Option<usize>, what: &str, deep: bool) {
    let data = !name(file).starts_with("MANIFEST");
    let named = |message: &str| {
        message.contains(&name(file))
            && page.is_none_or(|p| !data || message.contains(&format!("page {p}:")))
    };
    let error =
        read_all(dest).err().unwrap_or_else(|| panic!("{what} of {} went unseen", name(file)));
    assert!(named(&error.to_string()), "{what} of {}: {error}", name(file));
    assert!(!error.to_string().contains('\n'));
    if !deep {
        return;
    }
    match check(dest, &OpenOptions::default(), &[], &mut |_, _| ()) {
        Err(error) => assert!(named(&error.to_string()), "{what}: {error}"),
        Ok(report) => {
            assert!(!report.ok);
            assert!(report.problems.iter().any(|p| named(p)), "{what}: {:?}", report.problems);
        }
    }
}

/// Seen red with `PagedFile::verify` accepting every page, and with the CRCs of checksum tables
/// or that of the manifest not compared.
#[test]
fn every_64th_byte_flipped() -> Outcome {
    let (_home, dest) = stored(300 * scale())?;
    read_all(&dest)?;
    for file in files(&dest) {
        let whole = fs::read(&file)?;
        // checksum tables are short here, and have several parts
        let step = if name(&file).ends_with(".sum") { 7 } else { 64 };
        for at in (0..whole.len()).step_by(step) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at / step % 8);
            fs::write(&file, &bytes)?;
            // the deep check takes longer, so it checks every eighth byte
            let deep = at / step % 8 == 0;
            refused_by(&dest, &file, Some(at / PAGE), &format!("flip of byte {at}"), deep);
        }
        fs::write(&file, &whole)?;
    }
    read_all(&dest)?;
    Ok(())
}

/// A checksum table has one checksum as a whole, and damage in it is still located.
///
/// Seen red with page 0 named always.
#[test]
fn flips_in_a_long_checksum_table() -> Outcome {
    let (_home, dest) = stored(12_000)?;
    let file = dest.join("out-1.adj.sum");
    let whole = fs::read(&file)?;
    assert!(whole.len() > 2 * PAGE, "{} bytes", whole.len());
    for at in [31, 32, PAGE - 1, PAGE, 2 * PAGE - 1, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        fs::write(&file, &bytes)?;
        refused(&dest, &file, Some(at / PAGE), &format!("flip of byte {at}"));
    }
    Ok(())
}

/// Applies `damage` to each whole page of each file in turn, which the readers must refuse;
/// `damage` returns the lowest page that it changes.
fn each_page(what: &str, damage: impl Fn(&mut [u8], usize) -> usize) -> Outcome {
    let (_home, dest) = stored(300 * scale())?;
    for file in files(&dest) {
        let whole = fs::read(&file)?;
        for page in 0..whole.len() / PAGE {
            let mut bytes = whole.clone();
            let first = damage(&mut bytes, page);
            if bytes != whole {
                fs::write(&file, &bytes)?;
                refused(&dest, &file, Some(first), what);
            }
        }
        fs::write(&file, &whole)?;
    }
    Ok(())
}

/// Seen red with `PagedFile::verify` accepting every page.
#[test]
fn pages_zeroed() -> Outcome {
    each_page("zeroed page", |bytes, page| {
        bytes[page * PAGE..(page + 1) * PAGE].fill(0);
        page
    })
}

/// Seen red with `PagedFile::verify` accepting every page. (The page number in the salt is not
/// needed for this: a page is compared with the checksum of its place.)
#[test]
fn pages_swapped() -> Outcome {
    each_page("swapped pages", |bytes, page| {
        let other = (page + 1) % (bytes.len() / PAGE);
        let (low, high) = (page.min(other), page.max(other));
        let (front, back) = bytes.split_at_mut(high * PAGE);
        if low < high {
            front[low * PAGE..(low + 1) * PAGE].swap_with_slice(&mut back[..PAGE]);
        }
        low
    })
}

/// Seen red with the comparison of lengths removed from `PagedFile::open` and short reads taken for
/// whole ones, and with lengths and CRCs of checksum tables not compared. (One guard is enough:
/// with either of each pair the test stays green.)
#[test]
fn files_truncated_and_missing() -> Outcome {
    let (_home, dest) = stored(700)?;
    for file in files(&dest) {
        let whole = fs::read(&file)?;
        for keep in [0, 1, whole.len() / 2, whole.len().saturating_sub(PAGE), whole.len() - 1] {
            fs::write(&file, &whole[..keep])?;
            refused(&dest, &file, None, &format!("truncation to {keep}"));
        }
        fs::remove_file(&file)?;
        if name(&file).starts_with("MANIFEST") {
            assert!(matches!(read_all(&dest), Err(Error::NotAStore { .. })));
        } else {
            refused(&dest, &file, None, "removal");
        }
        fs::write(&file, &whole)?;
    }
    read_all(&dest)?;
    Ok(())
}

/// Seen red with the CRC of checksum tables not compared, and with the store that a table names
/// not looked at: both called a foreign pair corrupt.
#[test]
fn files_of_another_store() -> Outcome {
    let dir = tempfile::tempdir()?;
    let (ours, twin, other) =
        (dir.path().join("ours"), dir.path().join("twin"), dir.path().join("other"));
    plain(&ours, 300)?;
    plain(&twin, 300)?;
    plain(&other, 301)?;
    let data = |f: &PathBuf| !name(f).ends_with(".sum") && !name(f).starts_with("MANIFEST");
    for file in files(&ours).into_iter().filter(data) {
        let sums = ours.join(format!("{}.sum", name(&file)));
        let whole = (fs::read(&file)?, fs::read(&sums)?);
        let mut foreign = fs::read(other.join(name(&file)))?;
        foreign.resize(whole.0.len(), 0);
        if foreign != whole.0 {
            fs::write(&file, &foreign)?;
            refused(&ours, &file, None, "a foreign file");
        }
        // the same content under another identity
        fs::copy(twin.join(name(&file)), &file)?;
        fs::copy(twin.join(name(&sums)), &sums)?;
        let error = read_all(&ours).expect_err("a foreign pair");
        assert!(matches!(&error, Error::Foreign { path, .. } if *path == sums), "{error}");
        fs::write(&file, whole.0)?;
        fs::write(&sums, whole.1)?;
    }
    read_all(&ours)?;
    Ok(())
}

fn crc32c(bytes: &[u8]) -> u32 {
    u32::try_from(crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes)).expect("32 bits")
}

/// Seen red with `>` in the comparison of versions turned to `>=` (this version was refused) and
/// with the comparison removed (the newer one was misread).
#[test]
fn formats_of_other_versions() -> Outcome {
    let (_home, dest) = stored(100)?;
    let path = dest.join("MANIFEST-1");
    let whole = fs::read_to_string(&path)?;
    let next = (FORMAT_VERSION + 1).to_string();
    for (version, newer) in [("0", false), (&*next, true), ("4294967295", true), ("x", false)] {
        let text = whole.replacen("manifest 1\n", &format!("manifest {version}\n"), 1);
        let body = &text[..text.rfind("crc32c").expect("a checksum line")];
        fs::write(&path, format!("{body}crc32c {:08x}\n", crc32c(body.as_bytes())))?;
        let error = Store::open(&dest, &OpenOptions::default()).expect_err("another version");
        let refused = matches!(error, Error::Incompatible { supported: FORMAT_VERSION, .. });
        assert_eq!(refused, newer, "{error}");
        assert!(error.to_string().contains("MANIFEST-1"));
    }
    fs::write(&path, &whole)?;
    read_all(&dest)?;
    Ok(())
}

/// Seen red with `FileLock::take` not locking.
#[test]
fn two_writers() -> Outcome {
    let (dir, dest) = home()?;
    let begin = || StoreBuilder::create(Arc::new(RealFs::new()), &dest, BuildOptions::default());
    let first = begin()?;
    assert!(matches!(begin(), Err(Error::LockedHere(_))));
    drop(first);
    assert_eq!(files(dir.path()).len(), 0, "an abandoned build leaves nothing");
    plain(&dest, 50)?;
    assert!(matches!(begin(), Err(Error::Exists(path)) if path == dest));
    read_all(&dest)?;
    Ok(())
}

/// Seen red with a lock file taken in `Store::open`.
#[test]
fn readers_never_write() -> Outcome {
    let (dir, dest) = stored(500)?;
    let state = |dir: &Path| -> Vec<_> {
        let times = |p: PathBuf| {
            fs::metadata(&p).and_then(|m| Ok((m.modified()?, m.len()))).map(|m| (p, m))
        };
        [vec![dir.to_path_buf()], files(dir)]
            .concat()
            .into_iter()
            .map(|p| times(p).expect("there"))
            .collect()
    };
    let before = (state(&dest), state(dir.path()));
    for file in files(&dest) {
        let mut permissions = fs::metadata(&file)?.permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&file, permissions)?;
    }
    read_all(&dest)?;
    assert!(check(&dest, &OpenOptions::default(), &[], &mut |_, _| ())?.ok);
    assert_eq!((state(&dest), state(dir.path())), before);
    Ok(())
}

/// Bytes of a checksum table with zeros for all pages but the last.
fn sums(uuid: [u8; 16], id: u32, len: u64, page_size: usize, last: &[u8]) -> Vec<u8> {
    let pages = len.div_ceil(page_size as u64);
    let mut page = last.to_vec();
    page.resize(page_size, 0);
    let mut bytes = b"NKSUMS01".to_vec();
    bytes.extend(uuid);
    bytes.extend(id.to_le_bytes());
    bytes.resize(32 + (pages as usize - 1) * 4, 0);
    bytes.extend(page_checksum(&Salt { store: uuid, file: id }, pages - 1, &page).to_le_bytes());
    bytes
}

/// Neighbours of the first vertex of [`giant_store`].
const GIANT: u64 = 1 << 33;

fn varints(values: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for &value in values {
        let mut value = value;
        while value >= 0x80 {
            bytes.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
    }
    bytes
}

/// Writes the files of a store with a raw list of 2^33 neighbours in a sparse file, and a list of
/// two behind it.
fn giant_store(dest: &Path) -> std::io::Result<Manifest> {
    let page_size = 1 << 20;
    let giant = GIANT;
    let uuid = [7; 16];
    let file = |name: &str, id, len, tail: Vec<u8>| -> std::io::Result<FileEntry> {
        let data = fs::File::create(dest.join(name))?;
        data.set_len(len)?;
        std::os::unix::fs::FileExt::write_all_at(&data, &tail, len - tail.len() as u64)?;
        let table = sums(uuid, id, len, page_size, &tail);
        fs::write(dest.join(format!("{name}.sum")), &table)?;
        Ok(FileEntry {
            name: name.into(),
            id,
            len,
            sums: crc32c(&table),
            hash: format!("{:016x}", 0),
        })
    };
    let small = |bytes: Vec<u8>| (bytes.len() as u64, bytes);
    let tail: Vec<u8> = [0u32, 2].iter().flat_map(|v| v.to_le_bytes()).collect();
    let (idx, deg, heads) = (
        small(varints(&[giant * 4, 8])),
        small(varints(&[giant, 2])),
        small(varints(&[1, 1, 1, 3])),
    );
    let adjacency = AdjacencyEntry {
        direction: Direction::Out,
        lists: file("out-1.adj", 1, giant * 4 + 8, tail)?,
        lengths: file("out-1.idx", 2, idx.0, idx.1)?,
        degrees: file("out-1.deg", 3, deg.0, deg.1)?,
        heads: file("out-1.heads", 4, heads.0, heads.1)?,
        arcs: giant + 2,
        stored: 2,
        max_degree: giant,
        max_list_bytes: giant * 4,
    };
    Ok(Manifest {
        uuid: format!("{:032x}", u128::from_be_bytes(uuid)),
        generation: 1,
        directed: true,
        vertices: 3,
        edges: giant + 2,
        self_loops: 0,
        id_bits: 32,
        encoding: Encoding::Raw,
        page_size: page_size as u32,
        layout: "original".into(),
        stripes: None,
        adjacency: vec![adjacency],
        columns: Vec::new(),
        ids: IdsEntry {
            kind: IdKind::Dense,
            first: 0,
            keys: None,
            blocks: None,
            internal: None,
            ranks: None,
        },
        sections: Default::default(),
        report: serde_json::Map::new(),
    })
}

/// Seen red with the sum of lengths cut to 32 bits in `ListIndexBuilder::place`.
#[test]
fn counts_beyond_32_bits() -> Outcome {
    let (_home, dest) = home()?;
    fs::create_dir(&dest)?;
    let giant = GIANT;
    let manifest = giant_store(&dest)?;
    let path = dest.join("MANIFEST-1");
    fs::write(&path, manifest.to_bytes()?)?;
    let store = Store::open(&dest, &OpenOptions::default())?;
    assert_eq!((store.num_edges(), store.arcs()), (giant + 2, giant + 2));
    let adjacency = store.adjacency(Direction::Out)?;
    assert_eq!(adjacency.extent(0), 0..giant * 4);
    assert_eq!(adjacency.extent(1), giant * 4..giant * 4 + 8);
    assert_eq!(adjacency.extent(2), giant * 4 + 8..giant * 4 + 8);
    let mut reader = adjacency.file().reader(1, Arc::new(IoStats::new()))?;
    reader.submit(adjacency.extent(1), 0)?;
    let block = reader.next()?.expect("a block");
    let mut list = Vec::new();
    adjacency.list(block.slack(), 0..8)?.decode_into(&mut list)?;
    assert_eq!(list, [0, 2]);
    assert!(matches!(adjacency.degrees(&CancelToken::new()), Err(Error::Unsupported(_))));

    let open = |change: &dyn Fn(&mut Manifest)| -> Result<u64> {
        let mut other = manifest.clone();
        change(&mut other);
        fs::write(&path, other.to_bytes()?).expect("writable");
        let store = Store::open(&dest, &OpenOptions::default())?;
        Ok(store.adjacency(Direction::Out)?.arcs())
    };
    assert!(matches!(open(&|m| m.vertices = (1 << 32) + 5), Err(Error::Unsupported(_))));
    assert!(matches!(open(&|m| m.id_bits = 64), Err(Error::Unsupported(_))));
    // claims that would need terabytes are refused before any allocation
    assert!(open(&|m| m.adjacency[0].stored = 1 << 32).is_err());
    assert!(
        open(&|m| {
            m.vertices = 1 << 32;
            m.adjacency[0].stored = 1 << 32;
        })
        .is_err()
    );
    assert!(open(&|m| m.adjacency[0].lists.len = u64::MAX).is_err());
    assert!(open(&|m| m.adjacency[0].lists.name = "../out-1.adj".into()).is_err());
    assert!(open(&|m| m.page_size = 0).is_err());
    assert!(open(&|m| m.page_size = 3000).is_err());
    Ok(())
}
