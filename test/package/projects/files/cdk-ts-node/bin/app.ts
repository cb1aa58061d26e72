import { App, Stack } from 'aws-cdk-lib';
import { PushPop, PushPopProps } from 'pushpop';

const props: PushPopProps = { authorisation: { kind: 'iam' } };
const app = new App();
new PushPop(new Stack(app, 'Shop'), 'Queues', props);
app.synth();
