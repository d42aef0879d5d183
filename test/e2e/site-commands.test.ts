import { expect } from 'chai';
import { allRoutes, openApiOf } from '../../site/generate/endpoints/documents.ts';
import { requestExample } from '../../site/generate/endpoints/endpoint-section.ts';
import { services } from '../../site/generate/endpoints/services.ts';
import { needs } from '../needs.ts';
import { blocksOf, commandsOf, handWrittenPages } from './site-blocks.ts';
import { openSiteWorld, type SitePort, type SiteWorld } from './site-world.ts';

describe('what the site says to type', function () {
  this.timeout(120_000);
  let world: SiteWorld;
  before(async function () {
    needs(this, 'curl');
    world = await openSiteWorld();
  });
  after(() => world?.close());

  for (const page of handWrittenPages()) {
    const blocks = blocksOf(page).filter(
      ({ noRun, language }) => noRun === null && ['sh', 'console'].includes(language),
    );
    if (blocks.length === 0) continue;
    it(`works: ${page}`, async () => {
      const plansItself = blocks.some(({ text }) => text.includes('plan-issue'));
      if (!plansItself && blocks.some(({ text }) => /\bRUN\b/.test(text))) await world.planAgain();
      for (const block of blocks) {
        const command = commandsOf(block).join('\n');
        const { exitCode, output } = await world.type(command);
        expect(exitCode, `${page}:${block.line}\n${command}\n${output}`).to.equal(0);
      }
    });
  }

  for (const service of services) {
    const port = service.port as SitePort;
    it(`is described as the running ${service.name} describes itself`, async () => {
      const running = await (await fetch(`${world.url(port)}/v1/openapi.json`)).json();
      expect(await openApiOf(service)).to.deep.equal(running);
    });

    it(`gives requests that ${service.name} understands`, async () => {
      for (const route of allRoutes(service)) {
        const { method, path, body, upload } = route;
        const sent = body === null ? null : JSON.stringify(requestExample(route));
        const answer = await fetch(`${world.url(port)}${path.replaceAll(/\{\w+\}/g, 'run_ffffffff')}`, {
          method,
          headers: {
            Authorization: `Bearer ${world.token()}`,
            ...(sent === null ? {} : { 'Content-Type': 'application/json' }),
            ...(upload === null ? {} : { 'Content-Type': upload.types[0] }),
          },
          body: sent,
        });
        const text = await answer.text();
        const said = `${method} ${path}: ${answer.status} ${text.slice(0, 500)}`;
        if (answer.ok) continue;
        // What the example names need not be there; that it was looked for shows that the request was understood.
        expect(answer.status, said).to.be.oneOf([404, 409, 422]);
        expect(JSON.parse(text).code, said).to.not.be.oneOf(['path_not_found', undefined]);
      }
    });
  }
});
