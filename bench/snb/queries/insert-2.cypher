// A like of a post.
MATCH (p:Person {id: $personId}), (m:Post {id: $messageId})
CREATE (p)-[:LIKES {creationDate: $creationDate}]->(m)
