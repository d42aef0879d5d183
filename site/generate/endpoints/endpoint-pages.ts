import type { GeneratedPage } from '../generated-page.ts';
import { blocks, generatedPage } from '../markdown.ts';
import { contractDocs } from './contracts.ts';
import { allRoutes, openApiOf } from './documents.ts';
import { type DocsOf, endpointSection } from './endpoint-section.ts';
import { type DocumentedService, services } from './services.ts';

/** For each service a page, and its OpenAPI document beside it. */
export async function endpointPages(): Promise<GeneratedPage[]> {
  const docsOf = await contractDocs();
  const pages = services.map(async (service): Promise<GeneratedPage[]> => {
    const document = JSON.stringify(await openApiOf(service), null, 2);
    return [
      { path: `reference/${service.name}.md`, text: servicePage(service, docsOf) },
      { path: `public/openapi/${service.name}.json`, text: `${document}\n` },
    ];
  });
  return (await Promise.all(pages)).flat();
}

function servicePage(service: DocumentedService, docsOf: DocsOf): string {
  const { name, port, about } = service;
  return generatedPage(
    `${name} over HTTP`,
    'the routes of the service',
    about,
    blocks(
      `It listens on \`http://127.0.0.1:${port}\`. In the examples \`TOKEN\` is a token of yours, as \`./core token create\` makes one. Values in the examples of answers are made up; the members and their rules are those of the code.`,
      `The same for machines: <a href="/openapi/${name}.json" target="_blank">OpenAPI 3.1 document</a>, which the running service gives at \`GET /v1/openapi.json\`.`,
    ),
    '## Endpoints',
    ...allRoutes(service).map((route) => endpointSection(route, port, docsOf)),
  );
}
