import { join } from 'node:path';
import { expect } from 'chai';
import { asNamed, shownConfig } from './own-names.ts';

describe("A text of Core's own", () => {
  const text = 'see ./core forges and config/forges.json, not my-config/forges.json or config/other.txt';

  it('names the launcher and the files of the configuration as they are here', () => {
    expect(asNamed(text, { program: 'core', config: '~/.config/core' })).to.equal(
      'see core forges and ~/.config/core/forges.json, not my-config/forges.json or config/other.txt',
    );
    expect(asNamed(text, { program: 'core-context serve', config: 'config' })).to.equal(text);
  });

  it('names no file twice over', () => {
    const names = { program: './core', config: '/srv/core/config' };
    const once = asNamed('/srv/core/config/agents.json and config/agents.json', names);
    expect(once).to.equal('/srv/core/config/agents.json and /srv/core/config/agents.json');
    expect(asNamed(once, names)).to.equal(once);
  });

  it('finds the configuration of a home that is given, from here where it lies below', () => {
    expect(shownConfig(['runs', '--home', '/srv/core'])).to.equal('/srv/core/config');
    expect(shownConfig(['runs', '--home=/srv/core'])).to.equal('/srv/core/config');
    expect(shownConfig(['--home', join(process.cwd(), 'there')])).to.equal(join('there', 'config'));
    expect(shownConfig(['--home', ''])).to.equal('config');
  });
});
