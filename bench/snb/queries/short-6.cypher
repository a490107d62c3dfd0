// The forum of a message, and its moderator.
MATCH (:Message {id: $messageId})-[:REPLY_OF*0..]->(:Post)<-[:CONTAINER_OF]-(f:Forum)
MATCH (f)-[:HAS_MODERATOR]->(moderator:Person)
RETURN f.id AS forumId, f.title AS forumTitle, moderator.id AS moderatorId,
       moderator.firstName AS firstName, moderator.lastName AS lastName
