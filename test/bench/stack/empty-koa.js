import Koa from 'koa';

const app = new Koa();
app.use((context) => {
  context.body = 'ok';
});
app.listen(0, '127.0.0.1', function listening() {
  process.stdout.write(`${this.address().port}\n`);
});
