//! The deep check finds errors that checksums cannot show: a store that was written wrong.

mod sample;

use std::path::Path;
use std::sync::Arc;

use crc_fast::CrcAlgorithm;
use nakshi_io::write::RealFs;
use nakshi_io::{Salt, page_checksum};
use nakshi_store::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

fn build(dest: &Path, directed: bool, out: &[&[u32]], into: &[&[u32]]) -> Result<Manifest> {
    let options = BuildOptions { directed, vertices: out.len() as u64, ..BuildOptions::default() };
    let mut builder = StoreBuilder::create(Arc::new(RealFs::new()), dest, options)?;
    for (direction, lists) in [(Direction::Out, out), (Direction::In, into)] {
        if direction == Direction::In && !directed {
            continue;
        }
        builder.begin_adjacency(direction)?;
        for (v, list) in (0..).zip(lists) {
            builder.push_list(v, list, &[])?;
        }
        builder.finish_adjacency()?;
    }
    builder.commit()
}

fn problems(dest: &Path) -> Result<String> {
    Ok(check(dest, &OpenOptions::default(), &[], &mut |_, _| ())?.problems.join("\n"))
}

#[test]
fn a_sound_store_is_sound() -> Outcome {
    let (_home, dest) = sample::home()?;
    let manifest = sample::plain(&dest, 3000)?;
    let mut last = (0, 0);
    let report = check(&dest, &OpenOptions::default(), &[], &mut |done, total| {
        assert!(last.0 <= done && done <= total);
        last = (done, total);
    })?;
    assert_eq!(report.problems, Vec::<String>::new());
    assert!(report.ok);
    assert_eq!(report.entries, 2 * manifest.edges);
    assert_eq!(last.0, last.1, "progress ends at the end");
    Ok(())
}

/// Seen red with the comparison of both directions, and with that of both ends, removed from
/// `check::lists`.
#[test]
fn lists_that_contradict_each_other() -> Outcome {
    let dir = tempfile::tempdir()?;
    let ok = dir.path().join("ok");
    build(&ok, true, &[&[1, 2], &[2], &[]], &[&[], &[0], &[0, 1]])?;
    assert_eq!(problems(&ok)?, "");
    let twisted = dir.path().join("twisted");
    build(&twisted, true, &[&[1, 2], &[2], &[]], &[&[], &[0, 2], &[0]])?;
    assert!(problems(&twisted)?.contains("do not hold the same edges"));
    let lame = dir.path().join("lame");
    build(&lame, false, &[&[1, 2], &[0], &[1]], &[])?;
    assert!(problems(&lame)?.contains("both its ends"));
    let whole = dir.path().join("whole");
    build(&whole, false, &[&[0, 1, 2], &[0], &[0]], &[])?;
    assert_eq!(problems(&whole)?, "");
    Ok(())
}

/// The second list is written in the wrong order, with correct checksums. Seen red with the
/// comparison of neighbours removed from `check::lists`.
#[test]
fn lists_out_of_order() -> Outcome {
    let (_home, dest) = sample::home()?;
    let options = BuildOptions { vertices: 3, encoding: Encoding::Raw, ..BuildOptions::default() };
    let mut builder = StoreBuilder::create(Arc::new(RealFs::new()), &dest, options)?;
    for lists in [[&[1, 2][..], &[0, 1, 2], &[]], [&[1], &[0, 1], &[0, 1]]] {
        let direction = if lists[2].is_empty() { Direction::Out } else { Direction::In };
        builder.begin_adjacency(direction)?;
        for (v, list) in (0..).zip(lists) {
            builder.push_list(v, list, &[])?;
        }
        builder.finish_adjacency()?;
    }
    let mut manifest = builder.commit()?;
    assert_eq!(problems(&dest)?, "");
    let entry = &mut manifest.adjacency[0].lists;
    let path = dest.join(&entry.name);
    let mut bytes = std::fs::read(&path)?;
    // 1, 2, 0, 1, 2: the last two are swapped, behind the heads.
    bytes[12..20].rotate_left(4);
    std::fs::write(&path, &bytes)?;
    entry.hash = format!("{:016x}", crc_fast::checksum(CrcAlgorithm::Crc64Nvme, &bytes));
    bytes.resize(manifest.page_size as usize, 0);
    let salt =
        Salt { store: u128::from_str_radix(&manifest.uuid, 16)?.to_be_bytes(), file: entry.id };
    let sums = dest.join(format!("{}.sum", entry.name));
    let mut table = std::fs::read(&sums)?;
    table[32..].copy_from_slice(&page_checksum(&salt, 0, &bytes).to_le_bytes());
    std::fs::write(&sums, &table)?;
    entry.sums = u32::try_from(crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, &table))?;
    std::fs::write(dest.join("MANIFEST-1"), manifest.to_bytes()?)?;
    let found = problems(&dest)?;
    assert!(found.contains("vertex 1") && found.contains("not ascending"), "{found}");
    Ok(())
}

/// A change of the manifest, and the expected problem.
type Lie<'a> = (&'a dyn Fn(&mut Manifest), &'a str);

/// The manifest is rewritten with a correct checksum and a wrong number, and the check names each
/// wrong number. Seen red with the comparisons of edges, of sizes, of degrees and of heads each
/// removed from `check::lists`, and with that of the content hash removed from `check::pages`.
#[test]
fn manifests_that_lie() -> Outcome {
    let (_home, dest) = sample::home()?;
    let truth = sample::plain(&dest, 700)?;
    let said = |change: &dyn Fn(&mut Manifest)| -> Result<String> {
        let mut manifest = truth.clone();
        change(&mut manifest);
        std::fs::write(dest.join("MANIFEST-1"), manifest.to_bytes()?).expect("writable");
        match check(&dest, &OpenOptions::default(), &[], &mut |_, _| ()) {
            Ok(report) => Ok(report.problems.join("\n")),
            Err(error) => Ok(error.to_string()),
        }
    };
    assert_eq!(said(&|_| ())?, "");
    let lies: [Lie<'_>; 15] = [
        (&|m| m.edges += 1, "the manifest counts 7636 edges"),
        (&|m| m.self_loops += 1, "the manifest counts"),
        (&|m| m.adjacency[0].arcs -= 1, "another length than its lists"),
        (&|m| m.adjacency[0].max_degree += 1, "sizes of the Out lists"),
        (&|m| m.adjacency[0].max_list_bytes -= 1, "sizes of the Out lists"),
        (&|m| m.adjacency[0].stored -= 1, "out-1.idx is corrupt"),
        (&|m| m.vertices -= 10, "contradict each other"),
        (&|m| m.vertices += 1, "another length than the graph"),
        (&|m| m.encoding = Encoding::Raw, "contradict each other"),
        (&|m| m.ids.kind = IdKind::U64, "the id dictionary does not decode"),
        (&|m| m.ids.keys = None, "do not fit the kind"),
        (&|m| m.ids.ranks = None, "orders of ids"),
        (&|m| m.adjacency[0].lists.hash = "0".repeat(16), "out-1.adj: its content hash"),
        (&|m| m.adjacency[1].heads = m.adjacency[0].heads.clone(), "the heads of vertex"),
        (&|m| m.adjacency[1].degrees = m.adjacency[0].degrees.clone(), "the degree of vertex"),
    ];
    for (change, expected) in lies {
        let found = said(change)?;
        assert!(found.contains(expected), "{expected:?} is not in {found:?}");
    }
    assert_eq!(said(&|_| ())?, "");
    Ok(())
}
