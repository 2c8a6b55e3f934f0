"""Sequential digits: a recurrent network reads an image step by step and then says which digit."""
