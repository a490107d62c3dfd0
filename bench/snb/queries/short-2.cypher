// The newest messages of a person, with the posts that began the threads.
MATCH (:Person {id: $personId})<-[:HAS_CREATOR]-(m:Message)
WITH m
ORDER BY m.creationDate DESC, m.id DESC
LIMIT 10
MATCH (m)-[:REPLY_OF*0..]->(post:Post)-[:HAS_CREATOR]->(a:Person)
RETURN m.id AS messageId, coalesce(m.content, m.imageFile) AS content,
       m.creationDate AS creationDate, post.id AS postId, a.id AS authorId,
       a.firstName AS firstName, a.lastName AS lastName
ORDER BY creationDate DESC, messageId DESC
