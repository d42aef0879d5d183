import { expect } from 'chai';
import { listedFiles, type ScratchCopy, scratchCopy } from '../fixtures/contributing/scratch-copy.ts';
import { describeWith } from '../needs.ts';

/** A kind of forge that keeps its repositories as the local one does, and sends webhooks as nobody does. */
const traits = `import type { ForgeTraits } from './forge-traits.ts';

export const toy = {
  default_url: null,
  default_root: 'toys',
  webhooks: {
    eventHeader: 'x-toy-event',
    deliveryHeader: 'x-toy-delivery',
    signatureHeader: 'x-toy-signature',
    signaturePrefix: 'toy:',
    contentTypeSetting: 'the type of content of the webhook',
    actions: ['opened', 'edited', 'closed'],
    kinds: { opened: 'issue.created', edited: 'issue.updated', closed: 'issue.status_changed' },
    labelAction: () => 'edited',
  },
} satisfies ForgeTraits;
`;
const adapter = `import * as t from 'io-ts';
import { oneOf } from '#kit/decode.ts';
import { ForgeFolder } from '../local/forge-folder.ts';
import { LocalForge } from '../local/local-forge.ts';
import { commonSettings, type ForgeAdapter, within } from '../settings.ts';

const ToySettings = t.strict({ ...commonSettings, kind: oneOf(['toy']) });

export const toy: ForgeAdapter<typeof ToySettings> = {
  settings: ToySettings,
  create: ({ name }, { folders }) => new ToyForge(new ForgeFolder(name, within(folders.stateDir, 'toys')), 'core'),
};

export class ToyForge extends LocalForge {
  override readonly kind = 'toy';
}
`;
const bench = `
/** The toy forge on the folder of a local one. */
export async function toyBench(): Promise<ForgeBench> {
  const bench = await localBench();
  return { ...bench, forge: new ToyForge(new ForgeFolder('toy', bench.forge.url), 'core') };
}
`;
const ingress = `,
    "toy": { "secret": "toy-webhook", "forge": null, "actions": ["opened"], "by": "write", "label": null }`;

describeWith(['time'], 'a new kind of forge, by the list of CONTRIBUTING.md', function () {
  this.timeout(900_000);
  const registries = ['services/agentd/forges/registry.ts', 'services/bridge/configuration.ts'];
  const kinds = 'services/kit/forges/registry.ts';
  let copy: ScratchCopy;

  before(() => {
    copy = scratchCopy();
  });

  it('does not compile until each registry has said what it does', async () => {
    copy.add('services/kit/forges/toy.ts', traits);
    copy.insert(kinds, "import { local } from './local.ts';\n", "import { toy } from './toy.ts';\n");
    copy.insert(kinds, 'const kinds = { local, github, gitea', ', toy');
    const errors = await copy.compile(registries);
    for (const registry of registries) {
      const own = errors.filter((error) => error.startsWith(registry));
      expect(own.join('\n'), registry).to.contain("Property 'toy' is missing");
    }
  });

  it('is complete with the files that are listed, and passes the contract of forges', async () => {
    const [agentd, bridge] = registries as [string, string];
    copy.add('services/agentd/forges/toy/toy-forge.ts', adapter);
    copy.insert(
      agentd,
      "import type { ForgeAdapter } from './settings.ts';\n",
      "import { toy } from './toy/toy-forge.ts';\n",
    );
    copy.insert(agentd, 'const adapters = { local, github, gitea', ', toy');
    copy.insert(bridge, "gitea: forgeIngress('gitea'),\n", "  toy: forgeIngress('toy'),\n");
    copy.insert(
      'config/bridge.json',
      '"label_updated"],\n      "by": "write",\n      "label": null\n    }',
      ingress,
    );
    const benches = 'test/contract/forge.benches.ts';
    copy.insert(
      benches,
      "import { LocalForge } from '../../services/agentd/forges/local/local-forge.ts';\n",
      "import { ToyForge } from '../../services/agentd/forges/toy/toy-forge.ts';\n",
    );
    copy.insert(benches, "const ref = { owner: 'demo', repo: 'hello' };\n", bench);
    copy.insert('test/contract/forge.test.ts', 'import { giteaBench, githubBench, localBench', ', toyBench');
    copy.insert(
      'test/contract/forge.test.ts',
      "forgeContract('gitea', giteaBench);\n",
      "forgeContract('toy', toyBench);\n",
    );

    const listed = listedFiles('A new forge', 'toy').map((file) =>
      file.endsWith('/') ? `${file}toy-forge.ts` : file,
    );
    expect([...copy.touched].sort()).to.deep.equal(listed.sort());
    expect(await copy.compile([...registries, 'test/contract/forge.test.ts'])).to.deep.equal([]);
    const { passed, output } = await copy.run([
      'test/contract/forge.test.ts',
      'services/bridge/ingress/forge-webhook-source.test.ts',
      '--grep=toy',
    ]);
    expect(passed, output).to.equal(true);
    expect(Number(/(\d+) passing/.exec(output)?.[1])).to.be.greaterThan(20);
  });
});
