// Replies to a message, and whether their authors know its author.
MATCH (m:Message {id: $messageId})<-[:REPLY_OF]-(c:Comment)-[:HAS_CREATOR]->(a:Person)
MATCH (m)-[:HAS_CREATOR]->(author:Person)
RETURN c.id AS commentId, c.content AS content, c.creationDate AS creationDate,
       a.id AS personId, a.firstName AS firstName, a.lastName AS lastName,
       EXISTS { (author)-[:KNOWS]-(a) } AS knows
ORDER BY creationDate DESC, personId
