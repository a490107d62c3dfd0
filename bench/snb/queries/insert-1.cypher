// A person with a home, interests, studies and work.
MATCH (c:City {id: $cityId})
CREATE (p:Person)-[:IS_LOCATED_IN]->(c)
SET p = $person;
MATCH (p:Person {id: $person.id})
UNWIND $tagIds AS id
MATCH (t:Tag {id: id})
CREATE (p)-[:HAS_INTEREST]->(t);
MATCH (p:Person {id: $person.id})
UNWIND $studyAt AS study
MATCH (u:University {id: study.id})
CREATE (p)-[:STUDY_AT {classYear: study.year}]->(u);
MATCH (p:Person {id: $person.id})
UNWIND $workAt AS work
MATCH (c:Company {id: work.id})
CREATE (p)-[:WORK_AT {workFrom: work.year}]->(c)
