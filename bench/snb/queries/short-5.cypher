// Who wrote a message.
MATCH (:Message {id: $messageId})-[:HAS_CREATOR]->(a:Person)
RETURN a.id AS personId, a.firstName AS firstName, a.lastName AS lastName
