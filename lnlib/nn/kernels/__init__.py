"""The recurrences of :mod:`lnlib.nn.rnn`, once readable and several times fast."""
