import { App, Aspects, Duration, Stack } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { AwsSolutionsChecks, NagSuppressions, ServerlessChecks } from 'cdk-nag';
import { PushPop, PushPopConsumer } from 'pushpop';

const app = new App();
const shop = new Stack(app, 'Shop');
const service = new PushPop(shop, 'My Queues');
// The function in a stack of its own.
const workers = new Stack(app, 'Workers');
const ship = new lambda.Function(workers, 'Ship', {
  runtime: lambda.Runtime.NODEJS_22_X,
  handler: 'index.handler',
  code: lambda.Code.fromInline('exports.handler = async () => {}'),
  timeout: Duration.minutes(1),
});
NagSuppressions.addResourceSuppressions(
  ship,
  ['AwsSolutions-L1', 'AwsSolutions-IAM4', 'Serverless-LambdaLatestVersion', 'Serverless-LambdaTracing',
    'Serverless-LambdaDefaultMemorySize'].map((id) => ({ id, reason: 'The function of this test.' })),
  true,
);
new PushPopConsumer(shop, 'Works', { service, queues: 'orders', function: ship });
Aspects.of(app).add(new AwsSolutionsChecks());
Aspects.of(app).add(new ServerlessChecks());

const { stacks } = app.synth();
const errors = stacks.flatMap((stack) => stack.messages.filter(({ level }) => level === 'error'));
for (const { id, entry } of errors) console.error(id, entry.data);
const recovery = stacks.map(({ template }) => JSON.stringify(template).includes('"RecoveryPeriodInDays":35'));
if (errors.length > 0 || !recovery.includes(true)) process.exit(1);
