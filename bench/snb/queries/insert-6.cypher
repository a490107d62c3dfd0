// A post in a forum.
MATCH (a:Person {id: $authorId}), (f:Forum {id: $forumId}), (c:Country {id: $countryId})
CREATE (m:Post:Message)-[:HAS_CREATOR]->(a), (f)-[:CONTAINER_OF]->(m), (m)-[:IS_LOCATED_IN]->(c)
SET m = $post;
MATCH (m:Post {id: $post.id})
UNWIND $tagIds AS id
MATCH (t:Tag {id: id})
CREATE (m)-[:HAS_TAG]->(t)
