"""What the chapters are made of: what they show, and each chapter's own figures and exercises."""
