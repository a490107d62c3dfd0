// Friends of friends who were born around a month, by posts that share interests or do not.
MATCH (p:Person {id: $personId})-[:KNOWS*2..2]-(f:Person)
WHERE f <> p AND NOT (p)-[:KNOWS]-(f)
WITH DISTINCT p, f, datetime({epochMillis: f.birthday}) AS born
WHERE (born.month = $month AND born.day >= 21)
   OR (born.month = $month % 12 + 1 AND born.day < 22)
OPTIONAL MATCH (f)<-[:HAS_CREATOR]-(post:Post)
WITH p, f, post,
     CASE WHEN post IS NULL THEN 0
          WHEN EXISTS { (post)-[:HAS_TAG]->(:Tag)<-[:HAS_INTEREST]-(p) } THEN 1
          ELSE -1 END AS score
WITH f, sum(score) AS score
MATCH (f)-[:IS_LOCATED_IN]->(home:City)
RETURN f.id AS personId, f.firstName AS firstName, f.lastName AS lastName,
       score AS commonInterestScore, f.gender AS gender, home.name AS city
ORDER BY commonInterestScore DESC, personId
LIMIT 10
