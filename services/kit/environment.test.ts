import { expect } from 'chai';
import { childEnvironment, environment } from './environment.ts';

describe('The environment of the programs that Core starts', () => {
  it('leaves out what nobody listed, the credentials of clouds first', () => {
    const secrets = {
      AWS_SECRET_ACCESS_KEY: 'x',
      AWS_SESSION_TOKEN: 'x',
      GITHUB_TOKEN: 'x',
      OPENAI_API_KEY: 'x',
      DATABASE_URL: 'x',
      NPM_TOKEN: 'x',
      MY_CORE_HOME: 'x',
    };
    expect(childEnvironment({}, secrets)).to.deep.equal({});
  });

  it('keeps what programs need: folders, locale, terminal, proxies, certificates, compiled code and settings of Core', () => {
    const needed = {
      PATH: '/usr/bin',
      HOME: '/home/mira',
      LC_ALL: 'C.UTF-8',
      TERM: 'xterm',
      XDG_STATE_HOME: '/s',
      https_proxy: 'http://proxy:1',
      NODE_EXTRA_CA_CERTS: '/ca.pem',
      NODE_COMPILE_CACHE: '/cache',
      CORE_HOME: '/core',
    };
    expect(childEnvironment({}, needed)).to.deep.equal(needed);
  });

  it('keeps every variable that Core itself reads', () => {
    const testsAlone = ['NEO4J_URI', 'NEO4J_USER', 'NEO4J_PASSWORD'];
    for (const name of Object.keys(environment).filter((name) => !testsAlone.includes(name)))
      expect(childEnvironment({}, { [name]: 'x' }), name).to.deep.equal({ [name]: 'x' });
  });

  it('keeps what CORE_PASS_ENV names, and what the caller sets', () => {
    const given = { CORE_PASS_ENV: 'KRB5CCNAME, JAVA_HOME', KRB5CCNAME: '/k', JAVA_HOME: '/j', OTHER: 'x' };
    expect(childEnvironment({ CORE_PORT: '1' }, given)).to.deep.equal({
      CORE_PASS_ENV: 'KRB5CCNAME, JAVA_HOME',
      KRB5CCNAME: '/k',
      JAVA_HOME: '/j',
      CORE_PORT: '1',
    });
  });
});
