// A friendship.
MATCH (p:Person {id: $personId}), (f:Person {id: $friendId})
CREATE (p)-[:KNOWS {creationDate: $creationDate}]->(f)
