// Friends up to three steps away with a first name, the nearest first.
MATCH (p:Person {id: $personId}), (f:Person {firstName: $firstName})
WHERE p <> f
MATCH way = shortestPath((p)-[:KNOWS*1..3]-(f))
WITH f, length(way) AS distance
ORDER BY distance, f.lastName, f.id
LIMIT 20
MATCH (f)-[:IS_LOCATED_IN]->(home:City)
OPTIONAL MATCH (f)-[s:STUDY_AT]->(u:University)-[:IS_LOCATED_IN]->(uc:City)
WITH f, distance, home,
     collect(CASE WHEN u IS NULL THEN null ELSE [u.name, s.classYear, uc.name] END) AS universities
OPTIONAL MATCH (f)-[w:WORK_AT]->(c:Company)-[:IS_LOCATED_IN]->(cc:Country)
WITH f, distance, home, universities,
     collect(CASE WHEN c IS NULL THEN null ELSE [c.name, w.workFrom, cc.name] END) AS companies
RETURN f.id AS friendId, f.lastName AS lastName, distance, f.birthday AS birthday,
       f.creationDate AS creationDate, f.gender AS gender, f.browserUsed AS browserUsed,
       f.locationIP AS locationIP, f.email AS emails, f.speaks AS languages, home.name AS city,
       universities, companies
ORDER BY distance, lastName, friendId
