// A person.
MATCH (p:Person {id: $personId})-[:IS_LOCATED_IN]->(c:City)
RETURN p.firstName AS firstName, p.lastName AS lastName, p.birthday AS birthday,
       p.locationIP AS locationIP, p.browserUsed AS browserUsed, c.id AS cityId,
       p.gender AS gender, p.creationDate AS creationDate
