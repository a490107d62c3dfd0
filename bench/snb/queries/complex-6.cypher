// Tags beside a tag on posts of friends and of friends of friends.
MATCH (p:Person {id: $personId})-[:KNOWS*1..2]-(f:Person)
WHERE f <> p
WITH DISTINCT f
MATCH (f)<-[:HAS_CREATOR]-(post:Post)-[:HAS_TAG]->(:Tag {name: $tagName})
WITH DISTINCT post
MATCH (post)-[:HAS_TAG]->(t:Tag)
WHERE t.name <> $tagName
RETURN t.name AS tagName, count(post) AS postCount
ORDER BY postCount DESC, tagName
LIMIT 10
