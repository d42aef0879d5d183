import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { planningSeconds } from './planning-seconds.ts';

describe('The time that a planning may take', () => {
  it("is the planner's, or the longest of the agents where that is more", () => {
    const config = join(temporaryFolder(), 'config');
    mkdirSync(config);
    const seconds = (agents: object) => {
      writeFileSync(join(config, 'agents.json'), JSON.stringify({ agents }));
      return planningSeconds({ config });
    };
    const preset = seconds({});
    expect(preset).to.equal(1200);
    expect(seconds({ quick: { command: ['cat'], bounds: { seconds: 60 } } })).to.equal(preset);
    const slow = { command: ['cat'], bounds: { seconds: 7200 } };
    expect(seconds({ slow, plain: { command: ['cat'] } })).to.equal(7200);
  });
});
