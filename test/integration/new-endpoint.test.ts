import { expect } from 'chai';
import { listedFiles, type ScratchCopy, scratchCopy } from '../fixtures/contributing/scratch-copy.ts';
import { describeWith } from '../needs.ts';

const contract = `import * as t from 'io-ts';

/** \`GET /v1/toys/{name}\` */
export const Toy = t.strict({ name: t.string, runs: t.number });
export type Toy = t.TypeOf<typeof Toy>;
`;
const routeText = `    route(
      {
        method: 'GET',
        path: '/v1/toys/{name}',
        summary: 'A toy',
        scope: 'read',
        answers: { 200: { description: 'The toy', content: Toy } },
      },
      async ({ params }) => ({ json: await agent.toy(params.name!) }),
    ),
`;
const useCase = `  async toy(name: string): Promise<Toy> {
    return { name, runs: await this.countRuns() };
  }

`;
const test = `import { expect } from 'chai';
import { startDaemon } from '../fixtures/world/daemon.ts';
import { makeWorld } from '../fixtures/world/world.ts';

it('answers with a toy', async () => {
  const world = await makeWorld({ vcs: 'git' });
  const daemon = await startDaemon(world);
  const answer = await fetch(\`\${daemon.url}/v1/toys/bear\`);
  expect(await answer.json()).to.deep.equal({ name: 'bear', runs: 0 });
  const description = JSON.stringify(await (await fetch(\`\${daemon.url}/v1/openapi.json\`)).json());
  expect(description).to.contain('/v1/toys/{name}');
  await daemon.close();
  await world.close();
}).timeout(60_000);
`;

describeWith(['time'], 'a new endpoint of core-agentd, by the list of CONTRIBUTING.md', function () {
  this.timeout(900_000);
  const routes = 'services/agentd/http/read-routes.ts';
  const imported = "import { Toy } from '#kit/contracts/toy.ts';\n";
  let copy: ScratchCopy;

  before(() => {
    copy = scratchCopy();
  });

  it('does not compile without its use case', async () => {
    copy.add('services/kit/contracts/toy.ts', contract);
    copy.insert(routes, "import { UndoPlan } from '#kit/contracts/stored-texts.ts';\n", imported);
    copy.insert(
      routes,
      'function installationRoutes({ agent, version, checkouts, status }: ReadRouteOptions): Route[] {\n  return [\n',
      routeText,
    );
    const errors = await copy.compile([routes]);
    expect(errors.join('\n')).to.contain("Property 'toy' does not exist on type 'CoreAgent'");
  });

  it('is complete with the files that are listed, and answers', async () => {
    const agent = 'services/agentd/core-agent.ts';
    copy.insert(agent, "from '#kit/errors.ts';\n", imported.replace('import {', 'import type {'));
    copy.insert(agent, '  countRuns(): Promise<number> {\n    return this.#store.count();\n  }\n\n', useCase);
    copy.add('test/integration/toy.test.ts', test);

    expect([...copy.touched].sort()).to.deep.equal(listedFiles('A new endpoint', 'toy').sort());
    expect(await copy.compile(['services/agentd/main.ts', 'test/integration/toy.test.ts'])).to.deep.equal([]);
    const { passed, output } = await copy.run(['test/integration/toy.test.ts']);
    expect(passed, output).to.equal(true);
    expect(output).to.contain('1 passing');
  });
});
