// A forum with a moderator and tags.
MATCH (p:Person {id: $moderatorId})
CREATE (f:Forum)-[:HAS_MODERATOR]->(p)
SET f = $forum;
MATCH (f:Forum {id: $forum.id})
UNWIND $tagIds AS id
MATCH (t:Tag {id: id})
CREATE (f)-[:HAS_TAG]->(t)
