//! Sources of the edges of a run: a file, or the part that a server has.

use nakshi_engine::{Context, VertexId};
use nakshi_store::EdgePart;
use nakshi_store::import::Share;

use super::file::{EdgeFile, Parsed, PieceReader, Pieces};
use super::numbering::{Distinct, FoundIds, Numbering};
use crate::exchange::Session;
use crate::{Error, Result};

/// The edges of a run.
pub(crate) enum EdgeSource<'s> {
    /// A file that all servers read, which has so many bytes for others.
    File(&'s EdgeFile, u64),
    /// The part that this server has.
    Part(EdgePart),
}

/// Numbers of vertices, by what a piece calls them.
pub(super) enum Places<'n> {
    /// Ids, which are whole numbers.
    Ids(&'n Numbering),
    /// The number of each vertex of a part, by the number that the part gives it.
    Part(Vec<VertexId>),
}

/// No vertex has this number.
const NOBODY: VertexId = VertexId::MAX;

impl Places<'_> {
    #[inline]
    pub(super) fn number(&self, vertex: u64) -> Option<VertexId> {
        match self {
            Places::Ids(numbers) => numbers.number(vertex),
            Places::Part(places) => {
                places.get(vertex as usize).copied().filter(|place| *place != NOBODY)
            }
        }
    }
}

fn share_of(session: Option<&Session>) -> Share {
    session.map_or(Share { number: 0, of: 1 }, |session| Share {
        number: session.server(),
        of: session.servers(),
    })
}

impl EdgeSource<'_> {
    /// Returns true if edges lead one way only.
    pub(super) fn directed(&self) -> bool {
        match self {
            EdgeSource::File(file, _) => file.directed,
            EdgeSource::Part(_) => true,
        }
    }

    pub(super) fn weighted(&self) -> bool {
        match self {
            EdgeSource::File(file, _) => file.weighted,
            EdgeSource::Part(part) => part.weighted(),
        }
    }

    /// Returns true if edges between the same vertices count each, as those of a property graph with weights do.
    pub(super) fn is_multigraph(&self) -> bool {
        matches!(self, EdgeSource::Part(part) if part.weighted())
    }

    /// A load that takes too much memory, in messages, and what else there is to do.
    pub(super) fn load_name(&self) -> &'static str {
        match self {
            EdgeSource::File(..) => {
                "loading a file of edges; import it, and the lists may stay on disk:"
            }
            EdgeSource::Part(_) => "loading a part of the graph; take more shares:",
        }
    }

    /// Its name in messages.
    pub(super) fn name(&self) -> String {
        match self {
            EdgeSource::File(file, _) => file.path.display().to_string(),
            EdgeSource::Part(_) => "this server's part of the graph".into(),
        }
    }

    /// The share of a server, or its part, for the second pass.
    pub(super) fn edges(
        &self,
        weighted: bool,
        session: Option<&Session>,
        cx: &Context,
    ) -> Result<Pieces<'_>> {
        Ok(match self {
            EdgeSource::File(file, _) => {
                let share = share_of(session);
                let reader = PieceReader::File(Box::new(file.reader(weighted, share, cx)));
                Pieces::new(reader, 1, file.bytes() / share.of as u64)
            }
            EdgeSource::Part(part) => {
                let bytes = part.bytes().map_err(nakshi_engine::Error::from)?;
                Pieces::new(PieceReader::Part(part.lists()), 1, bytes)
            }
        })
    }

    /// Numbers all ids: `server` together with the other servers, or alone.
    ///
    /// # Errors
    /// Errors of reading; [`Error::Failed`] if the file is another one here, or for a part of a server that is
    /// alone.
    pub(crate) fn numbered(
        &self,
        (server, session): (usize, Option<&mut Session>),
        cx: &Context,
    ) -> Result<Numbering> {
        match (self, session) {
            (EdgeSource::File(file, bytes), session) => {
                numbered_file(file, *bytes, (server, session), cx)
            }
            (EdgeSource::Part(part), Some(session)) => ids_of(part, cx)?.numbered(session),
            (EdgeSource::Part(_), None) => {
                let why = "others have the parts of the graph that it needs".into();
                Err(Error::Failed { server, why })
            }
        }
    }

    /// Numbers of vertices, by what pieces call them.
    pub(super) fn places<'n>(&self, numbers: &'n Numbering) -> Result<Places<'n>> {
        Ok(match self {
            EdgeSource::File(..) => Places::Ids(numbers),
            EdgeSource::Part(part) => Places::Part(places_of(part, numbers)?),
        })
    }
}

/// The ids of a part.
fn ids_of(part: &EdgePart, cx: &Context) -> nakshi_engine::Result<FoundIds> {
    let mut ids = FoundIds::new(part.bytes()?);
    let mut blocks = part.ids();
    while let Some(block) = blocks.next_block()? {
        cx.check()?;
        block.each_id(|_, text| {
            ids.add(text);
            Ok::<_, nakshi_engine::Error>(())
        })?;
    }
    Ok(ids)
}

/// The number of each vertex of a part, by the number that the part gives it.
fn places_of(part: &EdgePart, numbers: &Numbering) -> nakshi_engine::Result<Vec<VertexId>> {
    let mut places = Vec::new();
    let mut blocks = part.ids();
    while let Some(block) = blocks.next_block()? {
        block.each_id(|number, text| {
            let at = number as usize;
            if at >= places.len() {
                places.resize((at + 1).max(places.len() * 3 / 2), NOBODY);
            }
            if let Some(place) = places.get_mut(at) {
                *place = numbers.named(text).unwrap_or(NOBODY);
            }
            Ok::<_, nakshi_engine::Error>(())
        })?;
    }
    Ok(places)
}

/// Numbers the ids of a file.
fn numbered_file(
    file: &EdgeFile,
    bytes: u64,
    (server, session): (usize, Option<&mut Session>),
    cx: &Context,
) -> Result<Numbering> {
    let share = share_of(session.as_deref());
    let reader = PieceReader::File(Box::new(file.reader(false, share, cx)));
    let mut pieces = Pieces::new(reader, 0, bytes / share.of as u64);
    let new = || Distinct::new(bytes);
    let found = pieces.parse(usize::MAX, cx, new, |piece, ids| {
        if let Parsed::File(edges) = piece {
            edges.vertices().for_each(|id| ids.add(id));
        }
        Ok(())
    })?;
    let here = file.bytes();
    if here != bytes {
        let path = file.path.display();
        let why = format!("{path} has {here} bytes here and {bytes} at the front-end");
        return Err(Error::Failed { server, why });
    }
    let mut ids = Distinct::new(bytes);
    found.into_iter().for_each(|found| ids.join(found));
    match session {
        Some(session) => Numbering::of_all(&ids.sorted(), session),
        None => Numbering::new(ids.sorted(), server),
    }
}
