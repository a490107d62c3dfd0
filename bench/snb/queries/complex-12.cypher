// Friends by their replies to posts with tags of a class or of one below it.
MATCH (:Person {id: $personId})-[:KNOWS]-(f:Person)<-[:HAS_CREATOR]-(c:Comment)-[:REPLY_OF]->(post:Post)
MATCH (post)-[:HAS_TAG]->(t:Tag)-[:HAS_TYPE]->(class:TagClass)
WHERE EXISTS { (class)-[:IS_SUBCLASS_OF*0..]->(:TagClass {name: $tagClassName}) }
RETURN f.id AS personId, f.firstName AS firstName, f.lastName AS lastName,
       collect(DISTINCT t.name) AS tagNames, count(DISTINCT c) AS replyCount
ORDER BY replyCount DESC, personId
LIMIT 20
