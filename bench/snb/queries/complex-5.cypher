// Forums that friends, and friends of friends, joined after a date, by what these wrote there.
MATCH (p:Person {id: $personId})-[:KNOWS*1..2]-(f:Person)
WHERE f <> p
WITH DISTINCT f
MATCH (f)<-[h:HAS_MEMBER]-(forum:Forum)
WHERE h.joinDate > $minDate
WITH DISTINCT f, forum
OPTIONAL MATCH (forum)-[:CONTAINER_OF]->(post:Post)-[:HAS_CREATOR]->(f)
WITH forum, count(post) AS postCount
RETURN forum.title AS forumTitle, postCount, forum.id AS forumId
ORDER BY postCount DESC, forumId
LIMIT 20
