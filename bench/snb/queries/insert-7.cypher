// A reply to a message.
MATCH (a:Person {id: $authorId}), (r:Message {id: $messageId}), (c:Country {id: $countryId})
CREATE (m:Comment:Message)-[:HAS_CREATOR]->(a), (m)-[:REPLY_OF]->(r), (m)-[:IS_LOCATED_IN]->(c)
SET m = $comment;
MATCH (m:Comment {id: $comment.id})
UNWIND $tagIds AS id
MATCH (t:Tag {id: id})
CREATE (m)-[:HAS_TAG]->(t)
