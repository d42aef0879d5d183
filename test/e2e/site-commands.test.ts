import { expect } from 'chai';
import { allRoutes, openApiOf } from '../../site/generate/endpoints/documents.ts';
import { services } from '../../site/generate/endpoints/services.ts';
import { describeWith } from '../needs.ts';
import { answerCheck, type OpenApi } from './documented-answers.ts';
import { blocksOf, commandsOf, handWrittenPages } from './site-blocks.ts';
import { inOrder, refusals, ServiceCalls } from './site-requests.ts';
import { openSiteWorld, type SitePort, type SiteWorld } from './site-world.ts';

describeWith(['curl', 'time'], 'what the site says to type', () => {
  let world: SiteWorld;
  before(async () => {
    world = await openSiteWorld();
  });
  after(() => world?.close());

  for (const page of handWrittenPages()) {
    const blocks = blocksOf(page).filter(
      ({ noRun, language }) => noRun === null && ['sh', 'console'].includes(language),
    );
    if (blocks.length === 0) continue;
    it(`works: ${page}`, async () => {
      const plansItself = blocks.some(({ text }) => text.includes('core plan'));
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
      const running = await (await world.fetch(port, '/v1/openapi.json')).json();
      expect(await openApiOf(service)).to.deep.equal(running);
    });

    it(`answers as the document of ${service.name} says`, async () => {
      const check = answerCheck((await openApiOf(service)) as OpenApi);
      const planned = service.folder === 'agentd' ? await world.planAgain() : null;
      const asked = new ServiceCalls(world, port, planned);
      const problems: string[] = [];
      for (const route of inOrder(allRoutes(service))) {
        const name = `${route.method} ${route.path}`;
        const answer = await asked.ask(route);
        const said = `${name}: ${answer.text.slice(0, 500)}`;
        const problem = check(route.method, route.path, answer);
        if (problem !== null) problems.push(`${said}: ${problem}`);
        const code = answer.status < 400 ? undefined : JSON.parse(answer.text).code;
        if (code !== refusals[name]) problems.push(`${said}: ${refusals[name] ?? 'success'} was expected`);
      }
      expect(problems).to.deep.equal([]);
    });
  }
});
