// The newest messages of friends and of friends of friends, before a date.
MATCH (p:Person {id: $personId})-[:KNOWS*1..2]-(f:Person)
WHERE f <> p
WITH DISTINCT f
MATCH (f)<-[:HAS_CREATOR]-(m:Message)
WHERE m.creationDate < $maxDate
RETURN f.id AS personId, f.firstName AS firstName, f.lastName AS lastName, m.id AS messageId,
       coalesce(m.content, m.imageFile) AS content, m.creationDate AS creationDate
ORDER BY creationDate DESC, messageId
LIMIT 20
