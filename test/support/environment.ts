// What the tests see of the shell that started them; mocha loads this first. Otherwise a person's locale, pager, colours or
// git settings would change what the programs under test print. CORE_TEST_LANG names another locale, in which all tests pass too.

const ofThePerson =
  /^(LANG|LANGUAGE|LC_\w+|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|CLICOLOR\w*|LESS\w*|PAGER|EDITOR|VISUAL|GIT_\w+|CORE_(?!TEST)\w+)$/;

for (const name of Object.keys(process.env)) if (ofThePerson.test(name)) delete process.env[name];
process.env.LANG = process.env.CORE_TEST_LANG ?? 'C.UTF-8';
process.umask(0o022);
