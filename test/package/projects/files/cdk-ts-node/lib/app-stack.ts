import { App, Stack } from 'aws-cdk-lib';
import { PushPop, PushPopConsumer, PushPopProps } from 'pushpop';

const props: PushPopProps = { authorisation: { kind: 'iam' } };

export class AppStack extends Stack {
  constructor(scope: App, id: string) {
    super(scope, id);
    const service = new PushPop(this, 'Queues', props);
    new PushPopConsumer(this, 'Ship', { service, queues: 'orders', function: 'src/ship.ts' });
  }
}
