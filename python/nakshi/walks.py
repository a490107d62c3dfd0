"""Random walks, and vectors of vertices that follow from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core
from .errors import ParameterError
from .lookups import _Engine, _ids
from .result import optional_module
from .similarity import Similarities

if TYPE_CHECKING:
    import numpy as np

    from .lookups import Ids
    from .queries import Id


class Walks(Similarities):
    """Methods that walk along edges."""

    def random_walks(
        self,
        starts: Id | Ids | None = None,
        *,
        walks: int = 10,
        length: int = 80,
        p: float = 1.0,
        q: float = 1.0,
        seed: int = 0,
        engine: _Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
    ) -> np.ndarray:
        """Random walks along out-edges; weights are not looked at.

        Args:
            starts: one id, or many, to start from; by default all vertices, ascending.
            walks: walks from each of them.
            length: vertices of a walk, the first included. A walk that cannot go on stays where it
                is.
            p: of node2vec: the larger, the rarer a step back.
            q: of node2vec: the larger, the rarer a step to a vertex that is no neighbour of the last
                one.
            seed: seed of the draws.
            engine, memory, threads, timeout: as for every look-up.

        Returns:
            Ids of shape ``(n, length)``: the first walk of each start in turn, then the second, and so
            on.
        """
        call = self._call(engine, memory, threads, timeout)
        numbers = (_whole("walks", walks), _whole("length", length), _whole("seed", seed))
        wanted = None if starts is None else _ids(starts)
        found = _core.walks(call, wanted, numbers, (float(p), float(q)))
        walked: np.ndarray = found.reshape(-1, numbers[1])
        return walked

    def node2vec(
        self,
        *,
        dimensions: int = 128,
        walks: int = 10,
        length: int = 80,
        p: float = 1.0,
        q: float = 1.0,
        window: int = 10,
        epochs: int = 1,
        seed: int = 0,
        engine: _Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Vectors of all vertices by node2vec: a skip-gram model of random walks. Needs gensim.

        Args:
            dimensions: length of a vector.
            walks, length, p, q: of the walks, as for :meth:`random_walks`.
            window: farthest step of a walk that counts as near.
            epochs: passes over the walks.
            seed: seed of walks and model. The vectors are the same again only with ``threads=1``.
            engine, memory, threads, timeout: of the walks, as for every look-up. The model is gensim's
                and outside of the cap; it also uses ``threads``.

        Returns:
            ``(ids, vectors)`` with the ids ascending and ``float32`` vectors of shape
            ``(num_vertices, dimensions)``.

        Raises:
            UnsupportedError: gensim is not installed.

        A. Grover, J. Leskovec, "node2vec: scalable feature learning for networks", KDD 2016.
        """
        import numpy as np

        word2vec = optional_module("gensim.models", "node2vec").Word2Vec
        walked = self.random_walks(
            walks=walks, length=length, p=p, q=q, seed=seed,
            engine=engine, memory=memory, threads=threads, timeout=timeout,
        )  # fmt: skip
        ids = walked[: len(walked) // walks, 0]
        places = {id: place for place, id in enumerate(ids.tolist())}
        sentences = [[places[id] for id in walk] for walk in walked.tolist()]
        model = word2vec(
            sentences, vector_size=dimensions, window=window, epochs=epochs, seed=seed,
            workers=threads or 1, min_count=0, sg=1, sorted_vocab=0,
        )  # fmt: skip
        vectors = np.stack([model.wv[place] for place in range(len(ids))])
        return ids, vectors.astype(np.float32, copy=False)


def _whole(name: str, value: Any) -> int:
    """A whole number that is not negative."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ParameterError(f"{name}={value!r}: give a whole number, 0 or more")
    return value
