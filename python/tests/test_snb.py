"""The queries of LDBC's Social Network Benchmark, interactive v1, over Bolt, against the same computed in plain
Python from the tables of the benchmark. Inserts are read back."""

from __future__ import annotations

import shutil
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import neo4j
import pytest

from .conftest import DATA
from .servers import serving

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from snb import data, queries, stores  # noqa: E402

ARCHIVE = DATA / "ldbc-snb-sf0.003-v1.tar.zst"
DAY = 86_400_000


class Oracle:
    """The network in dictionaries. Messages are posts and comments."""

    def __init__(self, network: data.Network) -> None:
        self.network = network
        nodes, of = network.nodes, network.of
        self.persons = {row["id"]: row for row in nodes["person"]}
        self.posts = {row["id"]: row for row in nodes["post"]}
        self.comments = {row["id"]: row for row in nodes["comment"]}
        self.messages = self.posts | self.comments
        self.forums = {row["id"]: row for row in nodes["forum"]}
        self.places = {row["id"]: row for row in nodes["place"]}
        self.organisations = {row["id"]: row for row in nodes["organisation"]}
        self.tags = {row["id"]: row["name"] for row in nodes["tag"]}
        self.friends: dict[int, dict[int, int]] = defaultdict(dict)
        for a, b, more in of("person", "KNOWS", "person"):
            self.friends[a][b] = self.friends[b][a] = more["creationDate"]

        def ends(source: str, type: str, target: str) -> dict[int, int]:
            return {a: b for a, b, _ in of(source, type, target)}

        def lists(source: str, type: str, target: str) -> dict[int, list[int]]:
            made = defaultdict(list)
            for a, b, _ in of(source, type, target):
                made[a].append(b)
            return made

        both = ("post", "comment")
        self.author = {
            m: a for kind in both for m, a in ends(kind, "HAS_CREATOR", "person").items()
        }
        self.country = {m: c for k in both for m, c in ends(k, "IS_LOCATED_IN", "place").items()}
        self.parent = {m: p for kind in both for m, p in ends("comment", "REPLY_OF", kind).items()}
        self.tags_of = lists("post", "HAS_TAG", "tag")
        self.forum = {post: f for f, post, _ in of("forum", "CONTAINER_OF", "post")}
        self.moderator = ends("forum", "HAS_MODERATOR", "person")
        self.city = ends("person", "IS_LOCATED_IN", "place")
        self.part_of = ends("place", "IS_PART_OF", "place")
        self.seat = ends("organisation", "IS_LOCATED_IN", "place")
        self.interests = lists("person", "HAS_INTEREST", "tag")
        self.classes = ends("tag", "HAS_TYPE", "tagclass")
        self.above = ends("tagclass", "IS_SUBCLASS_OF", "tagclass")
        self.class_names = {row["id"]: row["name"] for row in nodes["tagclass"]}
        self.written = defaultdict(list)
        for message, author in self.author.items():
            self.written[author].append(message)

    def circle(self, person: int) -> set[int]:
        """Friends and friends of friends."""
        found = {b for a in self.friends[person] for b in self.friends[a]} | set(
            self.friends[person]
        )
        return found - {person}

    def name(self, person: int) -> dict[str, Any]:
        row = self.persons[person]
        return {"personId": person, "firstName": row["firstName"], "lastName": row["lastName"]}

    def at(self, message: int) -> int:
        return self.messages[message]["creationDate"]

    def content(self, message: int) -> str | None:
        row = self.messages[message]
        return row.get("content", row.get("imageFile"))

    def posts_of(self, persons: set[int]) -> Iterator[int]:
        return (m for person in persons for m in self.written[person] if m in self.posts)

    def root(self, message: int) -> int:
        while message in self.parent:
            message = self.parent[message]
        return message

    def newest(self, persons: Any, until: int) -> list[dict[str, Any]]:
        found = [m for person in persons for m in self.written[person] if self.at(m) < until]
        found.sort(key=lambda m: (-self.at(m), m))
        return [
            {**self.name(self.author[m]), "messageId": m, "content": self.content(m)}
            | {"creationDate": self.at(m)}
            for m in found[:20]
        ]

    def distances(self, person: int) -> dict[int, int]:
        found, level = {person: 0}, [person]
        while level:
            after = []
            for a in level:
                for b in self.friends[a]:
                    if b not in found:
                        found[b] = found[a] + 1
                        after.append(b)
            level = after
        return found

    def complex_1(self, personId: int, firstName: str) -> Any:
        near = {p: d for p, d in self.distances(personId).items() if 0 < d <= 3}
        found = [p for p in near if self.persons[p]["firstName"] == firstName]
        found.sort(key=lambda p: (near[p], self.persons[p]["lastName"], p))
        network, places, rows = self.network, self.places, []
        for p in found[:20]:
            row = self.persons[p]
            studies = [e for e in network.of("person", "STUDY_AT", "organisation") if e[0] == p]
            works = [e for e in network.of("person", "WORK_AT", "organisation") if e[0] == p]
            same = ("birthday", "creationDate", "gender", "browserUsed", "locationIP", "lastName")
            places_of = {
                "universities": [(o, more["classYear"]) for _, o, more in studies],
                "companies": [(o, more["workFrom"]) for _, o, more in works],
            }
            named = {
                name: sorted(
                    [self.organisations[o]["name"], year, places[self.seat[o]]["name"]]
                    for o, year in each
                )
                for name, each in places_of.items()
            }
            more = {"emails": row["email"], "languages": row["speaks"]}
            city = places[self.city[p]]["name"]
            kept = {name: row[name] for name in same}
            rows.append({"friendId": p, "distance": near[p], "city": city} | kept | more | named)
        return rows

    def complex_2(self, personId: int, maxDate: int) -> Any:
        return self.newest(self.friends[personId], maxDate + 1)

    def complex_3(
        self, personId: int, startDate: int, durationDays: int, countryXName: str, countryYName: str
    ) -> Any:
        rows = []
        for p in self.circle(personId):
            home = self.places[self.part_of[self.city[p]]]["name"]
            when = range(startDate, startDate + durationDays * DAY)
            from_ = Counter(
                self.places[self.country[m]]["name"] for m in self.written[p] if self.at(m) in when
            )
            x, y = from_[countryXName], from_[countryYName]
            if home not in (countryXName, countryYName) and x and y:
                rows.append({**self.name(p), "xCount": x, "yCount": y, "count": x + y})
        return sorted(rows, key=lambda row: (-row["xCount"], row["personId"]))[:20]

    def complex_4(self, personId: int, startDate: int, durationDays: int) -> Any:
        during: Counter[int] = Counter()
        before = set()
        for post in self.posts_of(set(self.friends[personId])):
            if self.at(post) < startDate:
                before.update(self.tags_of[post])
            elif self.at(post) < startDate + durationDays * DAY:
                during.update(self.tags_of[post])
        rows = [(-count, self.tags[t]) for t, count in during.items() if t not in before]
        return [{"tagName": name, "postCount": -count} for count, name in sorted(rows)[:10]]

    def complex_5(self, personId: int, minDate: int) -> Any:
        circle = self.circle(personId)
        joined = defaultdict(set)
        for forum, person, more in self.network.of("forum", "HAS_MEMBER", "person"):
            if person in circle and more["joinDate"] > minDate:
                joined[forum].add(person)
        posts = Counter({forum: 0 for forum in joined})
        for post, forum in self.forum.items():
            posts[forum] += self.author[post] in joined.get(forum, ())
        best = sorted(joined, key=lambda forum: (-posts[forum], forum))[:20]
        title = {forum: self.forums[forum]["title"] for forum in best}
        return [{"forumTitle": title[f], "postCount": posts[f], "forumId": f} for f in best]

    def complex_6(self, personId: int, tagName: str) -> Any:
        beside: Counter[str] = Counter()
        for post in self.posts_of(self.circle(personId)):
            names = {self.tags[t] for t in self.tags_of[post]}
            if tagName in names:
                beside.update(names - {tagName})
        best = sorted(beside.items(), key=lambda item: (-item[1], item[0]))[:10]
        return [{"tagName": name, "postCount": count} for name, count in best]

    def complex_7(self, personId: int) -> Any:
        last: dict[int, tuple[int, int]] = {}
        for kind in ("post", "comment"):
            for person, m, more in self.network.of("person", "LIKES", kind):
                if self.author[m] == personId:
                    like = (-more["creationDate"], m)
                    last[person] = min(like, last.get(person, like))
        rows = []
        for person, (at, m) in sorted(last.items(), key=lambda item: (item[1][0], item[0]))[:20]:
            more = {"likeCreationDate": -at, "messageId": m, "content": self.content(m)}
            minutes = (-at - self.at(m)) // 60_000
            new = personId not in self.friends[person]
            rows.append({**self.name(person), **more, "minutesLatency": minutes, "isNew": new})
        return rows

    def complex_8(self, personId: int) -> Any:
        found = [c for c, parent in self.parent.items() if self.author[parent] == personId]
        found.sort(key=lambda c: (-self.at(c), c))
        return [
            {**self.name(self.author[c]), "commentCreationDate": self.at(c), "commentId": c}
            | {"content": self.content(c)}
            for c in found[:20]
        ]

    def complex_9(self, personId: int, maxDate: int) -> Any:
        return self.newest(self.circle(personId), maxDate)

    def complex_10(self, personId: int, month: int) -> Any:
        interests = set(self.interests[personId])
        rows = []
        for p in self.circle(personId) - set(self.friends[personId]):
            born = datetime.fromtimestamp(self.persons[p]["birthday"] / 1000, timezone.utc)
            days = [(month, day) for day in range(21, 32)]
            days += [(month % 12 + 1, day) for day in range(1, 22)]
            if (born.month, born.day) in days:
                shared = [bool(interests & set(self.tags_of[m])) for m in self.posts_of({p})]
                score = sum(1 if one else -1 for one in shared)
                more = {
                    "gender": self.persons[p]["gender"],
                    "city": self.places[self.city[p]]["name"],
                }
                rows.append({**self.name(p), "commonInterestScore": score, **more})
        return sorted(rows, key=lambda row: (-row["commonInterestScore"], row["personId"]))[:10]

    def complex_11(self, personId: int, countryName: str, workFromYear: int) -> Any:
        rows = []
        circle = self.circle(personId)
        for p, o, more in self.network.of("person", "WORK_AT", "organisation"):
            there = self.places[self.seat[o]]["name"] == countryName
            if p in circle and there and more["workFrom"] < workFromYear:
                company = self.organisations[o]["name"]
                rows.append({**self.name(p), "company": company, "workFrom": more["workFrom"]})
        rows.sort(key=lambda row: row["company"], reverse=True)
        return sorted(rows, key=lambda row: (row["workFrom"], row["personId"]))[:10]

    def complex_12(self, personId: int, tagClassName: str) -> Any:
        def within(tag: int) -> bool:
            at: int | None = self.classes[tag]
            while at is not None and self.class_names[at] != tagClassName:
                at = self.above.get(at)
            return at is not None

        rows = []
        for p in self.friends[personId]:
            count, names = 0, set()
            for c in self.written[p]:
                tags = {t for t in self.tags_of.get(self.parent.get(c, -1), ()) if within(t)}
                count += bool(tags)
                names |= {self.tags[t] for t in tags}
            if count:
                rows.append({**self.name(p), "tagNames": sorted(names), "replyCount": count})
        return sorted(rows, key=lambda row: (-row["replyCount"], row["personId"]))[:20]

    def complex_13(self, person1Id: int, person2Id: int) -> Any:
        return [{"shortestPathLength": self.distances(person1Id).get(person2Id, -1)}]

    def complex_14(self, person1Id: int, person2Id: int) -> Any:
        from_start, ways = self.distances(person1Id), [[person2Id]]
        for _ in range(from_start[person2Id]):
            before = from_start[ways[0][0]] - 1
            ways = [
                [b, *way] for way in ways for b in self.friends[way[0]] if from_start[b] == before
            ]
        replies: Counter[frozenset[int]] = Counter()
        for c, parent in self.parent.items():
            both = frozenset((self.author[c], self.author[parent]))
            # In halves.
            replies[both] += 2 if parent in self.posts else 1
        weighted = [(sum(replies[frozenset(two)] for two in zip(w, w[1:])), w) for w in ways]
        weighted.sort(key=lambda item: (-item[0], item[1]))
        return [{"personIdsInPath": way, "pathWeight": weight / 2} for weight, way in weighted]

    def short_1(self, personId: int) -> Any:
        row = self.persons[personId]
        same = "firstName lastName birthday locationIP browserUsed gender creationDate".split()
        return [{name: row[name] for name in same} | {"cityId": self.city[personId]}]

    def short_2(self, personId: int) -> Any:
        found = sorted(self.written[personId], key=lambda m: (-self.at(m), -m))[:10]
        rows = []
        for m in found:
            author = self.name(self.author[self.root(m)])
            author["authorId"] = author.pop("personId")
            more = {"content": self.content(m), "creationDate": self.at(m), "postId": self.root(m)}
            rows.append({"messageId": m, **more, **author})
        return rows

    def short_3(self, personId: int) -> Any:
        found = sorted(self.friends[personId].items(), key=lambda item: (-item[1], item[0]))
        return [{**self.name(p), "friendshipCreationDate": at} for p, at in found]

    def short_4(self, messageId: int) -> Any:
        return [{"creationDate": self.at(messageId), "content": self.content(messageId)}]

    def short_5(self, messageId: int) -> Any:
        return [self.name(self.author[messageId])]

    def short_6(self, messageId: int) -> Any:
        forum = self.forum[self.root(messageId)]
        moderator = self.name(self.moderator[forum])
        moderator["moderatorId"] = moderator.pop("personId")
        return [{"forumId": forum, "forumTitle": self.forums[forum]["title"], **moderator}]

    def short_7(self, messageId: int) -> Any:
        found = [c for c, parent in self.parent.items() if parent == messageId]
        found.sort(key=lambda c: (-self.at(c), self.author[c]))
        author = self.author[messageId]
        return [
            {"commentId": c, "content": self.content(c), "creationDate": self.at(c)}
            | {**self.name(self.author[c]), "knows": self.author[c] in self.friends[author]}
            for c in found
        ]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> data.Archive:
    if not ARCHIVE.exists():
        pytest.skip(f"{ARCHIVE} is not there: the benchmark's data are not part of the project")
    if shutil.which("zstd") is None:
        pytest.skip("unpacking the benchmark's data needs zstd")
    return data.Archive(ARCHIVE, tmp_path_factory.mktemp("snb"))


@pytest.fixture(scope="module")
def oracle(archive: data.Archive) -> Oracle:
    return Oracle(archive.network())


@pytest.fixture(scope="module")
def session(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[neo4j.Session]:
    store = tmp_path_factory.mktemp("store") / "snb.nakshi"
    stores.build(oracle.network, store)
    with serving(store, "--bolt", "127.0.0.1:0") as server:
        with neo4j.GraphDatabase.driver(server.bolt) as driver, driver.session() as session:
            yield session


def check(session: neo4j.Session, oracle: Oracle, query: queries.Query) -> list[dict[str, Any]]:
    wanted = getattr(oracle, query.name.replace("-", "_"))(**query.parameters)
    found = queries.ask(session, query)
    assert found == wanted, query
    return found


@pytest.mark.parametrize("number", range(1, 15))
def test_complex_reads(
    archive: data.Archive, session: neo4j.Session, oracle: Oracle, number: int
) -> None:
    given = archive.parameters(number)[0]
    check(session, oracle, queries.Query(f"complex-{number}", given))


def test_short_reads(session: neo4j.Session, oracle: Oracle) -> None:
    found = Counter()
    for query in queries.short_reads(oracle.network):
        found[query.name] += len(check(session, oracle, query))
    # Some messages have replies.
    assert len(found) == 7 and all(found.values())


def test_inserts(archive: data.Archive, session: neo4j.Session, oracle: Oracle) -> None:
    """The first insert of each number that needs no other."""
    known = {"personId": oracle.persons, "friendId": oracle.persons, "authorId": oracle.persons}
    known |= {"moderatorId": oracle.persons, "forumId": oracle.forums, "messageId": oracle.messages}
    first: dict[str, queries.Query] = {}
    for query in queries.inserts(archive):
        if all(
            query.parameters[name] in all_
            for name, all_ in known.items()
            if name in query.parameters
        ):
            first.setdefault(query.name, query)
    assert len(first) == 8
    for name, query in first.items():
        given = query.parameters
        nodes, edges = (1, 1) if name == "insert-1" else (0, 1)
        if name in ("insert-4", "insert-6", "insert-7"):
            nodes, edges = 1, 1 if name == "insert-4" else 3
        edges += sum(len(given.get(more, ())) for more in ("tagIds", "studyAt", "workAt"))
        made = queries.insert(session, query)
        assert (made["nodes_created"], made["relationships_created"]) == (nodes, edges), query

    def ask(name: str, **given: int) -> list[dict[str, Any]]:
        return queries.ask(session, queries.Query(name, given))

    person = first["insert-1"].parameters
    (row,) = ask("short-1", personId=person["person"]["id"])
    assert row["lastName"] == person["person"]["lastName"] and row["cityId"] == person["cityId"]
    post, comment = (first[f"insert-{number}"].parameters for number in (6, 7))
    assert ask("short-5", messageId=post["post"]["id"])[0]["personId"] == post["authorId"]
    assert ask("short-6", messageId=post["post"]["id"])[0]["forumId"] == post["forumId"]
    replies = {row["commentId"] for row in ask("short-7", messageId=comment["messageId"])}
    assert comment["comment"]["id"] in replies
    friendship = first["insert-8"].parameters
    friends = {row["personId"] for row in ask("short-3", personId=friendship["personId"])}
    assert friendship["friendId"] in friends
