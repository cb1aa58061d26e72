import * as cdk from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { PushPop, PushPopConsumer } from 'pushpop';

export class AppStack extends cdk.Stack {
  constructor(scope: Construct, id: string, props?: cdk.StackProps) {
    super(scope, id, props);
    const service = new PushPop(this, 'My Queues', { idempotencyTtl: cdk.Duration.days(2) });
    new PushPopConsumer(this, 'Ship', { service, queues: 'orders', function: 'src/ship.ts' });
  }
}
