// The newest replies to messages of a person.
MATCH (:Person {id: $personId})<-[:HAS_CREATOR]-(:Message)<-[:REPLY_OF]-(c:Comment)
MATCH (c)-[:HAS_CREATOR]->(a:Person)
RETURN a.id AS personId, a.firstName AS firstName, a.lastName AS lastName,
       c.creationDate AS commentCreationDate, c.id AS commentId, c.content AS content
ORDER BY commentCreationDate DESC, commentId
LIMIT 20
