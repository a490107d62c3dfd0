// Tags that friends' posts had in some days, and never before.
MATCH (:Person {id: $personId})-[:KNOWS]-(:Person)<-[:HAS_CREATOR]-(post:Post)-[:HAS_TAG]->(t:Tag)
WHERE post.creationDate < $startDate + $durationDays * 86400000
WITH t, sum(CASE WHEN post.creationDate >= $startDate THEN 1 ELSE 0 END) AS postCount,
     sum(CASE WHEN post.creationDate < $startDate THEN 1 ELSE 0 END) AS before
WHERE before = 0 AND postCount > 0
RETURN t.name AS tagName, postCount
ORDER BY postCount DESC, tagName
LIMIT 10
