// The newest messages of friends, up to a date.
MATCH (:Person {id: $personId})-[:KNOWS]-(f:Person)<-[:HAS_CREATOR]-(m:Message)
WHERE m.creationDate <= $maxDate
RETURN f.id AS personId, f.firstName AS firstName, f.lastName AS lastName, m.id AS messageId,
       coalesce(m.content, m.imageFile) AS content, m.creationDate AS creationDate
ORDER BY creationDate DESC, messageId
LIMIT 20
