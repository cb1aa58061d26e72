const { Stack } = require('aws-cdk-lib/core');
const { PushPop, PushPopConsumer } = require('pushpop');

class AppStack extends Stack {
  constructor(scope, id, props) {
    super(scope, id, props);
    const service = new PushPop(this, 'Queues');
    new PushPopConsumer(this, 'Ship', { service, queues: 'orders', function: 'src/ship.mjs' });
  }
}

module.exports = { AppStack };
