// Persons who liked messages of a person last, each with the last like.
MATCH (p:Person {id: $personId})<-[:HAS_CREATOR]-(m:Message)<-[l:LIKES]-(f:Person)
WITH p, f, m, l
ORDER BY l.creationDate DESC, m.id
WITH p, f, collect({message: m, at: l.creationDate})[0] AS last
RETURN f.id AS personId, f.firstName AS firstName, f.lastName AS lastName,
       last.at AS likeCreationDate, last.message.id AS messageId,
       coalesce(last.message.content, last.message.imageFile) AS content,
       (last.at - last.message.creationDate) / 60000 AS minutesLatency,
       NOT EXISTS { (p)-[:KNOWS]-(f) } AS isNew
ORDER BY likeCreationDate DESC, personId
LIMIT 20
