// A like of a comment.
MATCH (p:Person {id: $personId}), (m:Comment {id: $messageId})
CREATE (p)-[:LIKES {creationDate: $creationDate}]->(m)
